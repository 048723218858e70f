# SPDX-License-Identifier: MIT
"""admitperf serve at half of its peak for as long as is wanted: memory, and every record.

python3 soak.py PROGRAM LOAD FOLDER SECONDS: prints one line for each claim, and the figures on
standard error. LOAD is bench/sidecar/load, which asks, and tells each outcome. The log is counted
while it is written, and rotates: however long, it takes 400 MB of disk. Meanwhile pages are scraped,
ten a second.
"""
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.dont_write_bytecode = True  # beside the sources
from claims import Page, Pages, claim, die_with_us, skip, status, tree, until, waited_ms  # noqa: E402

PROGRAM, LOAD, FOLDER = sys.argv[1:4]
SECONDS = float(sys.argv[4])
SANITIZED = sys.argv[5:] == ["sanitized"]
CONNECTIONS, WINDOW = 8, 8
os.chdir(FOLDER)


class Waiting(Page):
    waiting = 0

    def do_GET(self):
        Waiting.waiting = (Waiting.waiting + 1) % 4  # of which none is refused
        self.answer(b'vllm:num_requests_waiting{engine="0"} %d\n' % Waiting.waiting)


KEEP = 5


class Counted(threading.Thread):
    """What is written to the log, by kind of line, from file to file as they are rotated."""

    def __init__(self):
        super().__init__(daemon=True)
        self.decisions, self.outcomes, self.dropped = 0, 0, 0

    @staticmethod
    def rotated():
        """The names of the rotated files that are there, by inode: the later the higher."""
        return {entry.inode(): entry.name for entry in os.scandir(".")
                if re.fullmatch(r"log\.\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{4}\.jsonl", entry.name)}

    def next_of(self, log):
        """The file that was begun when this one was rotated away; None: it was not, or not yet."""
        def follower():
            return min((name for name in self.rotated().values() if name > at), default="log.jsonl")

        at = self.rotated().get(os.fstat(log.fileno()).st_ino)
        if at is None:
            return None
        try:
            after = open(follower(), "rb", buffering=0)
        except FileNotFoundError:
            return None
        # What was opened as log.jsonl may be rotated by now, and even the second behind this one.
        if self.rotated().get(os.fstat(after.fileno()).st_ino, "log.jsonl") == follower():
            return after
        after.close()
        return None

    def run(self):
        log = until(30, lambda: os.path.exists("log.jsonl") and open("log.jsonl", "rb", buffering=0))
        rest = b""
        while True:
            some = log.read(1 << 20)
            if some:
                whole, newline, after = some.rpartition(b"\n")
                if newline:
                    self.count(rest + whole)
                rest = after if newline else rest + some
                continue
            after = self.next_of(log)
            if not after:
                time.sleep(0.005)
            elif not (some := log.read(1)):  # nothing came before it was rotated away
                log.close()
                log = after
            else:
                after.close()
                rest += some

    def count(self, lines):
        self.decisions += lines.count(b'"verdict":')
        self.outcomes += lines.count(b'"outcome":')
        if b'"dropped":' in lines:
            self.dropped += sum(json.loads(line)["dropped"]["count"] for line in lines.split(b"\n") if b'"dropped":' in line)

    def all(self):
        return self.decisions + self.outcomes + self.dropped


def resident_kib(pid):
    """Of all its processes, what is not of files; what they share once."""
    own, shared = 0, 0
    for p in tree(pid):
        with open("/proc/%d/status" % p) as f:
            told = dict(re.findall(r"^(Rss\w+):\s*(\d+)", f.read(), re.M))
        own, shared = own + int(told["RssAnon"]), max(shared, int(told["RssShmem"]))
    return own + shared


def load(address, seconds, rate):
    return subprocess.Popen([LOAD, "settle", address, str(CONNECTIONS), str(WINDOW), "%.3f" % seconds, "%.0f" % rate],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)


def told(process):
    out, _ = process.communicate()
    found = {k: float(v) for k, v in (pair.split("=") for pair in out.split())}
    return found if process.returncode == 0 else {**found, "asked": -1}


def start_sidecar(pages):
    with open("a.yaml", "w") as f:
        f.write("""version: 1
experiment: soak
run: r1
policy: { use: queue_depth, params: { max_waiting: 4, retry_after_ms: 1500 } }
scrape: [ { name: e0, url: "http://127.0.0.1:%d/metrics", interval: 100ms, timeout: 100ms } ]
log: { path: log.jsonl, rotate: 64MiB, keep: %d }
serve: { listen: 127.0.0.1:0 }
""" % (pages.server_port, KEEP))
    said = open("said", "w")
    process = subprocess.Popen([PROGRAM, "serve", "-c", "a.yaml"], stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                               preexec_fn=die_with_us)
    address = until(20, lambda: re.search(r"http on (\S+)", open("said").read()))
    if not address:
        claim("the sidecar starts", False, open("said").read())
        raise SystemExit(1)
    return process, address[1]


def soak(sidecar, address, log):
    at_peak = told(load(address, min(5.0, max(1.0, SECONDS / 10)), 0))
    until(30, lambda: log.all() == at_peak["answered"] + at_peak["settled"])
    claim("at its peak every answer is a line of the log, or is counted as lost there",
          at_peak["asked"] == at_peak["answered"] > 0 and log.all() == at_peak["answered"] + at_peak["settled"],
          (at_peak, log.decisions, log.outcomes, log.dropped))
    peak = at_peak["answered"] / at_peak["seconds"]
    before, waited, begin = (log.decisions, log.outcomes, log.dropped), waited_ms(sidecar.pid), time.monotonic()
    running = load(address, SECONDS, peak / 2)
    time.sleep(SECONDS / 10)  # what is measured is memory then and at the end
    early, most, late = resident_kib(sidecar.pid), 0, 0
    while running.poll() is None:
        late = resident_kib(sidecar.pid)
        most = max(most, late)
        time.sleep(min(1.0, SECONDS / 20))
    at_half = told(running)
    share = (waited_ms(sidecar.pid) - waited) / 1e3 / (time.monotonic() - begin)
    until(30, lambda: log.all() - sum(before) == at_half["answered"] + at_half["settled"])
    decisions, outcomes, dropped = (now - then for now, then in zip((log.decisions, log.outcomes, log.dropped), before))
    print("peak %.0f/s; at half %.0f/s for %.0f s: %d answers, p50 %.0f µs, p99 %.0f µs; resident %d KiB after a tenth, "
          "%d at the end, %d at most; lines %d + %d, lost %d; waited for a processor %.0f %%" %
          (peak, at_half["answered"] / at_half["seconds"], at_half["seconds"], at_half["answered"], at_half["p50_us"],
           at_half["p99_us"], early, late, most, decisions, outcomes, dropped, 100 * share), file=sys.stderr)
    claim("at half of it each request is answered, and each outcome settles its own",
          at_half["asked"] == at_half["answered"] == at_half["settled"] > 0, at_half)
    claim("no record is unaccounted for: lines and recorded losses are the answers",
          decisions + outcomes + dropped == at_half["answered"] + at_half["settled"], (decisions, outcomes, dropped, at_half))
    what = "and none is lost: as many lines of decisions as answers, of outcomes as were told"
    if dropped and share > 0.05:
        skip(what, "it waited for a processor %.0f %% of the time, and %d were" % (100 * share, dropped))
    else:
        claim(what, (decisions, outcomes) == (at_half["answered"], at_half["settled"]), (decisions, outcomes, at_half))
    # A ring's pages are the kernel's until they are first written; that of snapshots, 8 MiB, takes minutes.
    what = "memory is flat: at the end no more than after a tenth of the time, within 1 MiB and 2 %"
    if SANITIZED:
        skip(what, "sanitizers keep what is freed")
    else:
        claim(what, 0 < late <= early * 1.02 + 1024, (early, late, most))


def main():
    pages = Pages(("127.0.0.1", 0), Waiting)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    log = Counted()
    log.start()
    sidecar, address = start_sidecar(pages)
    until(20, lambda: urllib.request.urlopen("http://%s/healthz" % address, timeout=10).status == 200)
    soak(sidecar, address, log)
    sidecar.send_signal(signal.SIGTERM)
    claim("told to stop, it ends with 0", sidecar.wait(120) == 0, open("said").read())


main()
raise SystemExit(status())
