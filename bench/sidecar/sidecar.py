#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""admitperf serve against nginx `return 200`, in turns in the same run: rows for bench/table.sh.

    sidecar.py ADMITPERF LOAD       LOAD: the program bench/sidecar/load of the build
    ROUNDS=5 SECONDS_EACH=2         in the environment, for longer or shorter
    BENCH_BUSY=1                    on a busy machine: each round counts, by the time that the thread that
                                    answers had a processor, and rows say so; percentiles are worth nothing

As it is run: a worker under its supervisor, which writes the log. Two rows more are of one process
(--one-process), which says what that costs.

Both have one thread that answers, and both get the same requests: wrk over TCP, h2load over a unix
socket, 16 connections that are kept. The sidecar does all of its work: it decides on a page that
it scrapes, and writes its log (to BENCH_DIR, by default here; it rotates). Each request is admitted.
Nobody tells outcomes, so that each request also gives an earlier one up as LOST: two lines of log
for each request, as in service. SPOP has no yardstick but its target; bench/sidecar/load asks.

A round in which the thread that answers, the sidecar's or nginx', waited for a processor for more
than a twentieth of the time is thrown away; fewer than half of the rounds left: "not measured".
"""
import ctypes
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM, LOAD = sys.argv[1:3]
ROUNDS, EACH = int(os.environ.get("ROUNDS", 5)), os.environ.get("SECONDS_EACH", "2")
BUSY = "BENCH_BUSY" in os.environ
SECTION = "The sidecar"
folder = tempfile.mkdtemp(prefix="sidecar-", dir=os.environ.get("BENCH_DIR", "."))
folder = os.path.abspath(folder)
BODY = '{"request_id":"bench-7f3a9c","facts":{"tenant":"acme","prompt_tokens":2168,"max_output_tokens":256}}'


def row(what, measured="", yardstick="", ratio="", target="", verdict=""):
    print("\t".join((SECTION, what, measured, yardstick, ratio, target, verdict)), flush=True)


def dies_with_us():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def start(name, *argv):
    with open(os.path.join(folder, name + ".said"), "wb") as said:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=folder,
                                preexec_fn=dies_with_us)


def said(name):
    with open(os.path.join(folder, name + ".said")) as f:
        return f.read()


def write(name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def until(question):
    end = time.monotonic() + 20
    while not question():
        if time.monotonic() > end:
            raise SystemExit("sidecar.py: a server does not start:\n" + said("nginx") + said("sidecar"))
        time.sleep(0.05)


# --- the two servers

NGINX = """worker_processes 1; daemon off; pid nginx.pid; error_log stderr warn;
events { worker_connections 1024; }
http {
    access_log off; keepalive_requests 1000000000;
    client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;
    server {
        listen 127.0.0.1:%d; listen unix:%s/nginx.sock;
        location / { return 200; }
        location = /page {
            default_type text/plain;
            return 200 'vllm:num_requests_waiting{engine="0"} 1\\nvllm:kv_cache_usage_perc{engine="0"} 0.5\\n';
        }
    }
}
"""
SIDECAR = """version: 1
experiment: bench
run: r1
policy: { use: queue_depth, params: { max_waiting: 4, retry_after_ms: 1500 } }
scrape: [ { name: e0, url: "http://127.0.0.1:%d/page", interval: 1s } ]
log: { path: log.jsonl, rotate: 256MiB, keep: 1 }
serve: { listen: [ 127.0.0.1:0, "unix:%s/ours.sock" ], spop: 127.0.0.1:0 }
"""


def free_port():
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def children(pid):
    """It and all below it."""
    found = [pid]
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/children" % (pid, task)) as f:
            found += [c for child in f.read().split() for c in children(int(child))]
    return found


def schedules(pid):
    """Of each thread: nanoseconds that it ran, and that it was ready and had no processor."""
    told = {}
    for p in children(pid):
        for task in os.listdir("/proc/%d/task" % p):
            with open("/proc/%d/task/%s/schedstat" % (p, task)) as f:
                told[task] = [int(n) for n in f.read().split()[:2]]
    return told


def of_the_one_that_answers(before, after):
    """Of the thread that ran most: seconds that it ran, and the share of its time that it had to wait."""
    ran, late = max((after[t][0] - before.get(t, (0, 0))[0], after[t][1] - before.get(t, (0, 0))[1]) for t in after)
    return ran / 1e9, late / (ran + late) if ran + late else 0.0


def watched(process, once):
    """What `once` gives (requests/s, …), and the share of waiting meanwhile."""
    before = schedules(process.pid)
    rate, *more = once()
    ran, late = of_the_one_that_answers(before, schedules(process.pid))
    return (rate * float(EACH) / ran if BUSY else rate, *more), late


# --- the clients: requests/s, p50 and p99 in µs

WRK = """local all = {}
init = function()
    local at = 0
    for i = 1, 1024 do
        local r = {}
        for j = 1, %(pipelined)d do
            at = at + 1
            local h = { ["X-Tenant"] = "acme", ["X-Prompt-Tokens"] = "2168", ["X-Request-Id"] = string.format("bench-%%08x", at) }
            local body = %(body)s
            if body then body = body:gsub("7f3a9c", string.format("%%08x", at)) end
            r[j] = wrk.format("%(method)s", "%(path)s", h, body)
        end
        all[i] = table.concat(r)
    end
end
local i = 0
request = function()
    i = i %% 1024 + 1
    return all[i]
end
"""


def us(text):
    number, unit = re.match(r"([0-9.]+)(us|ms|s)$", text).groups()
    return float(number) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]


def wrk(port, script):
    out = subprocess.run(["wrk", "-t1", "-c16", "-d%ss" % EACH, "--latency", "-s", script, "http://127.0.0.1:%d/" % port],
                         capture_output=True, text=True).stdout
    if "Non-2xx" in out or "Socket errors" in out or "Requests/sec" not in out:
        raise SystemExit("sidecar.py: wrk: " + out)
    return (float(re.search(r"Requests/sec:\s*([0-9.]+)", out)[1]),
            *(us(re.search(r"^ +%d%% +(\S+)" % p, out, re.M)[1]) for p in (50, 99)))


def h2load(socket_path, path, body):
    times = os.path.join(folder, "times")
    if os.path.exists(times):
        os.remove(times)
    r = subprocess.run(["h2load", "--h1", "-c16", "-t1", "-D", EACH, "--log-file=" + times,
                        "-H", "x-request-id: bench-7f3a9c", "-H", "x-tenant: acme", "-H", "x-prompt-tokens: 2168",
                        *(["-d", write("body", body)] if body else []), "-B", "unix:" + socket_path,
                        "http://localhost" + path], capture_output=True, text=True)
    done = re.search(r"finished in [0-9.]+m?s, ([0-9.]+) req/s", r.stdout)
    codes = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", r.stdout)
    if not done or not codes or any(int(n) for n in codes.groups()[1:]):
        raise SystemExit("sidecar.py: h2load: " + r.stdout + r.stderr)
    with open(times) as f:
        took = sorted(int(line.split("\t")[2]) for line in f if line.count("\t") == 2)
    return float(done[1]), took[len(took) // 2], took[int(len(took) * 0.99)]


# --- rows

def figures(rounds, side):
    rate, p50, p99 = (statistics.median(r[side][i] for r in rounds) for i in range(3))
    return "%s/s, p50 %.0f, p99 %.0f µs" % (format(int(rate), ","), p50, p99)


def in_turns(sidecar, nginx, once):
    """Sound rounds of (ours, nginx'), and the worst share of waiting."""
    rounds, worst = [], 0.0
    for i in range(ROUNDS if BUSY else 3 * ROUNDS):
        both, late = [None, None], 0.0
        for side in ((0, 1), (1, 0))[i % 2]:
            both[side], waited = watched((sidecar, nginx)[side], lambda s=side: once(s))
            late = max(late, waited)
        worst = max(worst, late)
        if BUSY or late <= 0.05:
            rounds.append(both)
        if len(rounds) == ROUNDS:
            break
    return rounds, worst


def compared(what, target, least, rounds, worst, tail):
    if len(rounds) <= ROUNDS // 2:
        row(what, target=target, verdict="not measured: waited for a processor %.0f %% of the time" % (100 * worst))
        return
    ratio = statistics.median(a[0] / b[0] for a, b in rounds)
    p99 = statistics.median(a[2] / b[2] for a, b in rounds)
    met = ratio >= least and (p99 <= 2 or not tail)
    row(what, figures(rounds, 0), "nginx: " + figures(rounds, 1),
        "%.2f" % ratio + (", p99 %.2f" % p99 if tail else ""), target, "busy" if BUSY else "met" if met else "missed")


def ask_by_spop(address):
    told = subprocess.run([LOAD, "spop", address, "4", "32", EACH, "0"], capture_output=True, text=True)
    if told.returncode:
        raise SystemExit("sidecar.py: load: " + told.stdout + told.stderr)
    found = {k: float(v) for k, v in (pair.split("=") for pair in told.stdout.split())}
    return found["answered"] / found["seconds"], found["p50_us"], found["p99_us"]


def spop(sidecar, address, how=""):
    what, target = "SPOP, 4 connections, 32 frames on their way on each" + how, "≥ 100,000/s"
    rounds, worst = [], 0.0
    for _ in range(ROUNDS if BUSY else 3 * ROUNDS):
        got, late = watched(sidecar, lambda: ask_by_spop(address))
        worst = max(worst, late)
        if BUSY or late <= 0.05:
            rounds.append((got,))
        if len(rounds) == ROUNDS:
            break
    if len(rounds) <= ROUNDS // 2:
        row(what, target=target, verdict="not measured: waited for a processor %.0f %% of the time" % (100 * worst))
        return
    met = statistics.median(r[0][0] for r in rounds) >= 1e5
    row(what, figures(rounds, 0), target=target, verdict="busy" if BUSY else "met" if met else "missed")


def start_sidecar(port, *how):
    """It, its port and the address for SPOP."""
    sidecar = start("sidecar", PROGRAM, "serve", "-c", write("admitperf.yaml", SIDECAR % (port, folder)), *how)
    until(lambda: "spop on" in said("sidecar"))
    return (sidecar, int(re.search(r"http on 127\.0\.0\.1:(\d+)", said("sidecar"))[1]),
            re.search(r"spop on (\S+)", said("sidecar"))[1])


def by_tcp(servers, ports, method, path, body, how=""):
    script = write("ask.lua", WRK % {"pipelined": 1, "method": method, "path": path,
                                     "body": "'%s'" % body if body else "nil"})
    compared("`%s %s`, 16 connections, TCP%s" % (method, path, how), "≥ 1.0, p99 ≤ 2", 1.0,
             *in_turns(*servers, lambda side: wrk(ports[side], script)), True)


def measure():
    port = free_port()
    nginx = start("nginx", "nginx", "-p", folder, "-e", "stderr", "-c", write("nginx.conf", NGINX % (port, folder)))
    until(lambda: os.path.exists(folder + "/nginx.sock"))
    sidecar, ours, by_spop = start_sidecar(port)
    asks = {"/v1/auth": ("GET", None), "/v1/decide": ("POST", BODY)}
    for path, (method, body) in asks.items():
        by_tcp((sidecar, nginx), (ours, port), method, path, body)
        compared("`%s %s`, 16 connections, unix socket" % (method, path), "≥ 1.0, p99 ≤ 2", 1.0,
                 *in_turns(sidecar, nginx, lambda side, p=path, b=body: h2load(
                     folder + ("/ours.sock", "/nginx.sock")[side], p, b)), True)
    script = write("ask.lua", WRK % {"pipelined": 8, "method": "GET", "path": "/v1/auth", "body": "nil"})
    compared("`GET /v1/auth`, 16 connections, TCP, 8 pipelined", "≥ 3", 3.0,
             *in_turns(sidecar, nginx, lambda side: wrk((ours, port)[side], script)), False)
    spop(sidecar, by_spop)
    sidecar.terminate()
    sidecar.wait(20)
    sidecar, ours, by_spop = start_sidecar(port, "--one-process")
    by_tcp((sidecar, nginx), (ours, port), "GET", "/v1/auth", None, ", one process")
    spop(sidecar, by_spop, ", one process")
    sidecar.terminate()
    sidecar.wait(20)
    nginx.terminate()
    nginx.wait(20)


def main():
    for program, package in (("nginx", "nginx-light"), ("wrk", "wrk"), ("h2load", "nghttp2-client")):
        if not shutil.which(program):
            row("all of it", verdict="not measured: no %s (package %s)" % (program, package))
            return
    try:
        measure()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
