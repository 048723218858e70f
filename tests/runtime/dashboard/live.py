# SPDX-License-Identifier: MIT
"""A dashboard that follows a sidecar and an engine: claims as TAP. live.py PROGRAM

The engine is a page served here; the sidecar and the dashboard are the program. Ports are free
ones, everything started here ends with it.
"""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.dont_write_bytecode = True  # beside the sources
from claims import Page, Pages, claim_in_time, claim_that, die_with_us, free_port, status, until, waited_ms  # noqa: E402

PROGRAM = sys.argv[1]
folder = tempfile.mkdtemp(prefix="adp-live-")
os.chdir(folder)
os.mkdir("logs")
running = []


class Engine(Page):
    text = b"vllm:kv_cache_usage_perc 0.95\nvllm:num_requests_waiting 3\n"

    def do_GET(self):
        self.answer(Engine.text)


engine = Pages(("127.0.0.1", 0), Engine)
threading.Thread(target=engine.serve_forever, daemon=True).start()
engine_url = f"http://127.0.0.1:{engine.server_port}/metrics"


def start(words, said):
    """The program with these words; what it says goes to the file."""
    with open(said, "w") as to:
        process = subprocess.Popen([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=to, stderr=to,
                                   preexec_fn=die_with_us)
    running.append(process)
    return process


def end(process):
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 0, process.returncode


sidecar_port = free_port()
sidecar = f"127.0.0.1:{sidecar_port}"
with open("serve.yaml", "w") as to:
    to.write(f"""version: 1
experiment: live
run: r1
log: none
scrape: [ {{ name: e0, url: "{engine_url}", interval: 1s, timeout: 1s }} ]
policy: {{ use: kv_threshold, params: {{ threshold: 0.9 }} }}
serve: {{ listen: [ "{sidecar}" ] }}
""")


def serve():
    process = start(["serve", "-c", "serve.yaml"], "serve.said")
    assert until(20, lambda: get(sidecar, "/readyz")[0] == 200), open("serve.said").read()
    return process


def get(at, path, headers=None):
    connection = http.client.HTTPConnection(at, timeout=20)
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except OSError:
        return 0, b""
    finally:
        connection.close()


def decide(n):
    connection = http.client.HTTPConnection(sidecar, timeout=20)
    for i in range(n):
        connection.request("POST", "/v1/decide", json.dumps({"request_id": f"{time.monotonic_ns()}-{i}"}))
        connection.getresponse().read()
    connection.close()


def metrics():
    """The sidecar's own page: {(name, frozenset of labels): value}."""
    page = {}
    for line in get(sidecar, "/metrics")[1].decode().splitlines():
        found = re.fullmatch(r'(\w+)(?:\{(.*)\})? (\S+)', line)
        if found:
            page[found[1], frozenset(re.findall(r'(\w+)="([^"]*)"', found[2] or ""))] = float(found[3])
    return page


class Stream:
    """What a dashboard tells of a target, event by event."""

    def __init__(self, target, receive=None):
        self.socket = socket.socket()
        if receive:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        self.socket.settimeout(20)
        self.socket.connect(("127.0.0.1", int(dashboard.rsplit(":", 1)[1])))
        self.socket.sendall(f"GET /api/live?target={target} HTTP/1.1\r\nHost: {dashboard}\r\n\r\n".encode())
        self.file = self.socket.makefile("rb")

    def head(self):
        lines = []
        while (line := self.file.readline()) not in (b"\r\n", b""):
            lines.append(line.decode().strip())
        return lines

    def next(self):
        """(name, data) of the next event."""
        name = None
        while True:
            line = self.file.readline()
            assert line, "the stream ended"
            if line.startswith(b"event: "):
                name = line[7:].strip().decode()
            elif line.startswith(b"data: "):
                return name, json.loads(line[6:])

    def wait(self, name, holds=lambda data: True):
        for _ in range(60):
            event, data = self.next()
            if event == name and holds(data):
                return data
        raise AssertionError(f"no such {name} among sixty events")

    def close(self):
        self.file.close()
        self.socket.close()


first = serve()
process = start(["dashboard", "--listen", "127.0.0.1:0", "--live", f"http://{sidecar}", "--live", engine_url, "--live",
                 "http://127.0.0.1:1/metrics", "logs"], "dashboard.said")
url = until(20, lambda: re.match(r"http://([\d.:]+)/\n", open("dashboard.said").read()))
dashboard = url[1]


def figures():
    decide(30)
    stream = Stream(0)
    assert "HTTP/1.1 200 OK" in stream.head()[0]
    page = stream.wait("page", lambda data: data["decisions"] == 30)
    stream.close()
    there = metrics()
    assert page["sidecar"] and page["refused"] == 30 and page["faults"] == 0, page
    for row in page["verdicts"]:
        labels = frozenset((k, v) for k, v in row.items() if k != "n")
        assert there["admitperf_decisions_total", labels] == row["n"], row
    assert len(page["verdicts"]) == sum(name == "admitperf_decisions_total" for name, _ in there)
    signals = {s["name"]: s for s in page["signals"]}
    assert signals["kv_pressure"]["value"] == 0.95 and 0 <= signals["kv_pressure"]["age_s"] <= 5  # the most it may have
    assert signals["queue_depth"]["value"] == 3
    assert signals["gpu_util"]["value"] is None and signals["gpu_util"]["why"] == "never_supplied"
    assert page["scrape_up"] == [{"target": "e0", "n": 1}], page["scrape_up"]


def rates():
    stream = Stream(0)
    before = stream.wait("page")
    decide(50)
    after = stream.wait("page", lambda data: data["decisions"] == before["decisions"] + 50)
    stream.close()
    last = after["last"]
    # Thirty at most are of the claim before, if those ten seconds reach as far back.
    assert 0 < last["s"] <= 11 and 50 <= last["decisions"] <= 80 and last["refused"] == last["decisions"], last
    assert after["moment"]["per_s"] > 0


def past():
    stream = Stream(0)
    name, data = stream.next()
    assert name == "past" and "kv_pressure" in data["signals"], (name, data)
    moments = data["moments"]
    assert len(moments) >= 2 and all(a[0] < b[0] for a, b in zip(moments, moments[1:])), moments
    assert all(len(m) == 3 + len(data["signals"]) for m in moments)
    assert stream.next()[0] == "page"
    stream.close()


def gone():
    stream = Stream(0)
    stream.wait("page")
    end(first)
    down = stream.wait("down")
    assert down["why"] == "connection_refused" and down["for_s"] > 0, down
    assert "decisions" not in down and down["moment"]["per_s"] is None and not down["moment"]["signals"], down
    second = Stream(0)
    assert [second.next()[0] for _ in range(3)] == ["past", "page", "down"]
    second.close()
    again = serve()
    page = stream.wait("page")
    # Its counters began anew: no growth is told, and none below 0.
    assert page["decisions"] == 0 and page["last"] is None and page["moment"]["per_s"] is None, page
    decide(5)
    page = stream.wait("page", lambda data: data["decisions"] == 5)
    assert page["last"]["decisions"] == 5, page["last"]
    stream.close()
    return again


def hanging():
    os.kill(second.pid, signal.SIGSTOP)
    children = [int(p) for p in open(f"/proc/{second.pid}/task/{second.pid}/children").read().split()]
    for child in children:
        os.kill(child, signal.SIGSTOP)
    try:
        stream = Stream(0)
        assert stream.wait("down")["why"] == "timeout"
        stream.close()
    finally:
        for child in children:
            os.kill(child, signal.SIGCONT)
        os.kill(second.pid, signal.SIGCONT)
    assert until(20, lambda: get(sidecar, "/readyz")[0] == 200)


def an_engine():
    stream = Stream(1)
    page = stream.wait("page")
    stream.close()
    assert page["sidecar"] is False and page["decisions"] is None and page["last"] is None
    signals = {s["name"]: s["value"] for s in page["signals"]}
    assert signals["kv_pressure"] == 0.95 and signals["gpu_util"] is None
    status, body = get(dashboard, "/api/supply?target=1")
    said = json.loads(subprocess.run([PROGRAM, "signals", "--json", engine_url], capture_output=True, check=True).stdout)
    assert status == 200 and json.loads(body) == said, body


def nobody():
    assert json.loads(get(dashboard, "/api/targets")[1]) == {
        "targets": [f"http://{sidecar}/metrics", engine_url, "http://127.0.0.1:1/metrics"]}
    for query in ("", "target=3", "target=-1", "target=00", f"target={engine_url}", "url=http://127.0.0.1:1"):
        assert get(dashboard, f"/api/live?{query}")[0] == 404, query
    assert get(dashboard, "/api/supply?target=2")[0] == 404
    assert get(dashboard, "/api/live?target=0", {"Host": "evil.example"})[0] == 421
    stream = Stream(2)
    down = stream.wait("down")
    assert down["why"] == "connection_refused" and down["for_s"] is None, down
    stream.close()


def slow_readers():
    slow = [Stream(0, receive=1024) for _ in range(20)]
    fast = Stream(0)
    fast.wait("page")
    came, before = [], waited_ms(os.getpid())
    for _ in range(4):
        fast.wait("page")
        came.append(time.monotonic())
    claim_in_time("while others read nothing, pages come each second as before",
                  1000 * (max(b - a for a, b in zip(came, came[1:])) - 2.5), waited_ms(os.getpid()) - before, came)
    assert get(dashboard, "/api/terms")[0] == 200
    more = [Stream(0) for _ in range(12)]
    # With 33 looking, one is turned away.
    heads = [s.head()[0] for s in more]
    assert heads.count("HTTP/1.1 503 Service Unavailable") == 1, heads
    for stream in slow + more + [fast]:
        stream.close()
    # Who left makes room.
    def room():
        stream = Stream(0)
        head = stream.head()[0]
        stream.close()
        return "200" in head
    assert until(10, room)


def others_first(n):
    """Asks for a report that takes long, then for other things; whether those came first."""
    long = http.client.HTTPConnection(dashboard, timeout=60)
    long.request("GET", f"/api/report?log=long.jsonl&ask={n}")
    long.sock.setblocking(False)
    for path in ("/", "/api/terms", "/api/targets"):
        assert get(dashboard, path)[0] == 200
    try:
        first = not long.sock.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        first = True
    long.sock.setblocking(True)
    answer = long.getresponse()
    body = json.loads(answer.read())
    assert answer.status == 200 and body["offered"] == 400, (answer.status, body["offered"])
    return first


def long_logs():
    subprocess.run([PROGRAM, "demo", "--repeats", "1", "-o", "demo"], check=True, capture_output=True)
    one = open("demo/demo/kv_threshold/r1.jsonl", "rb").read()
    with open("logs/long.jsonl", "wb") as to:
        for _ in range((96 << 20) // len(one)):
            to.write(one)
    assert any(others_first(n) for n in range(5)), "the long one was answered first, five times"
    begun = time.monotonic()
    assert json.loads(get(dashboard, "/api/report?log=long.jsonl&ask=0")[1])["offered"] == 400
    print(f"# kept: {1000 * (time.monotonic() - begun):.1f} ms")
    os.remove("logs/long.jsonl")


claim_that("what it tells of a sidecar is what the sidecar's own page says", figures)
claim_that("rates are growth over ten seconds, and say over how many", rates)
claim_that("who begins to look is told what was before", past)
second = None


def restart():
    global second
    second = gone()


claim_that("a sidecar that went is told as gone, its figures not as zero, and one that came again began anew", restart)
claim_that("one that hangs is told as hanging", hanging)
claim_that("of an engine it tells the signals that its page supplies, as `signals --json` does", an_engine)
claim_that("nobody is asked but those it was told to follow", nobody)
claim_that("who reads slowly holds up nobody, and not too many look", slow_readers)
claim_that("while a long log is read, the rest is answered; and then it is kept", long_logs)
claim_that("interrupted, it ends at once, and well", lambda: end(process))
for one in running:
    if one.poll() is None:
        one.kill()
        one.wait()
shutil.rmtree(folder)
sys.exit(status())
