# SPDX-License-Identifier: MIT
"""Runs the admitperf lines of a README, one after another, as they stand but for where the engine is, how
long is watched, and what is left in the background; and looks at what else the page says.

python3 setup.py PROGRAM README FOLDER: prints one line for each claim.
"""
import os
import re
import shlex
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True  # beside the sources
from claims import Page, Pages, claim, status  # noqa: E402

PROGRAM, README, FOLDER = sys.argv[1:]
with open(README) as f:
    TEXT = f.read()


class Engine(Page):
    def do_GET(self):
        self.answer(b'vllm:num_requests_waiting{engine="0"} 2\nvllm:num_requests_running{engine="0"} 9\n'
                    b'vllm:kv_cache_usage_perc{engine="0"} 0.44\n', kind="text/plain; version=0.0.4")


def commands():
    """The words of each command of the page's blocks."""
    for block in re.findall(r"^```sh\n(.*?)^```$", TEXT, re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            yield shlex.split(line.rstrip("& "))


def option(words, name):
    return words[words.index(name) + 1] if name in words else None


engine = Pages(("127.0.0.1", 0), Engine)
threading.Thread(target=engine.serve_forever, daemon=True).start()
done, vllm = [], None
for words in commands():
    if words[:3] == ["vllm", "bench", "serve"]:
        vllm = words
    if words[0] != "admitperf":
        continue
    told = [w.replace("127.0.0.1:8000", "127.0.0.1:%d" % engine.server_address[1]) for w in words[1:]]
    if "--for" in told:
        told[told.index("--for") + 1] = "1200ms"
    ran = subprocess.run([PROGRAM, *told], cwd=FOLDER, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    claim("it runs: %s" % " ".join(words), ran.returncode == 0, (ran.returncode, ran.stderr))
    done.append(words[1])
    last = ran.stdout
claim("the page looks, records and reports", done == ["signals", "watch", "report"], done)
claim("what is found there is that no policy could fire", "INERT" in last, last)
claim("the load is the one that can fill the cache",
      vllm and "--ignore-eos" in vllm and option(vllm, "--random-input-len") == "8192", vllm)
# The page's arithmetic: so many requests, of so many tokens, of so many in all.
share = re.search(r"(\d+) × (\d+) / (\d+) = ([0-9.]+)", TEXT)
claim("the share of the cache that short requests fill is worked out rightly",
      share and round(int(share[1]) * int(share[2]) / int(share[3]), 2) == float(share[4]), share)
needed = re.search(r"([0-9.]+) × (\d+) / (\d+) = ([0-9,]+) tokens", TEXT)
claim("and so are the tokens that a threshold of 0.9 takes",
      needed and round(float(needed[1]) * int(needed[2]) / int(needed[3])) == int(needed[4].replace(",", "")), needed)
raise SystemExit(status())
