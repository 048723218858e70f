# SPDX-License-Identifier: MIT
"""admitperf serve, as a gateway, an operator, Prometheus and systemd meet it.

python3 serve.py PROGRAM [OPTION...], of serve: prints one line for each claim. Ports are free ones, everything started
here ends with it.
"""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.dont_write_bytecode = True  # beside the sources
from claims import Page, Pages, claim, claim_in_time, die_with_us, skip, status, until, waited_ms  # noqa: E402

PROGRAM, *OPTIONS = sys.argv[1:]
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, where all this is in a script's background
folder = tempfile.mkdtemp(prefix="adp-serve-")
os.chdir(folder)


class Waiting(Page):
    waiting = 0

    def do_GET(self):
        self.answer(b'vllm:num_requests_waiting{engine="0"} %d\n' % Waiting.waiting)


class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.host)


pages = Pages(("127.0.0.1", 0), Waiting)
threading.Thread(target=pages.serve_forever, daemon=True).start()
running = []

POLICY = "policy: { use: queue_depth, params: { max_waiting: 4, retry_after_ms: 1500 }%s }\n"


def yaml(body, enforce="", log="log.jsonl"):
    return ("version: 1\nexperiment: e\nrun: r1\nlog: { path: %s }\n" % log) + POLICY % enforce + body


def scrape():
    """With the time that a busy machine may take to answer, and well within the age that readings may have."""
    return 'scrape: [ { name: e0, url: "http://127.0.0.1:%d/metrics", interval: 1s, timeout: 1s } ]\n' % pages.server_port


class Sidecar:
    """One that runs; its addresses are what it says of itself."""

    def __init__(self, config, **more):
        self.said = open("said", "w+")
        with open("a.yaml", "w") as f:
            f.write(config)
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "-c", "a.yaml", *OPTIONS], stdin=subprocess.DEVNULL, stdout=self.said, stderr=self.said,
            preexec_fn=more.pop("before", die_with_us), **more)
        running.append(self.process)
        self.http = until(20, lambda: self.address("http") or self.process.poll() is not None)

    def text(self):
        with open("said") as f:
            return f.read()

    def address(self, what, n=0):
        found = re.findall(r"^admitperf: %s on (?:udp:|unixgram:)?(\S+)$" % what, self.text(), re.M)
        return found[n] if len(found) > n else None

    def ask(self, path, headers=None, method="GET", body=None, at=None):
        at = at or self.http
        if at.startswith("unix:"):
            c = Unix(at[5:])
        else:
            c = http.client.HTTPConnection(at, timeout=60)
        try:
            c.request(method, path, body, headers or {})
            r = c.getresponse()
            return r.status, {k.lower(): v for k, v in r.getheaders()}, r.read().decode()
        finally:
            c.close()

    def post(self, path, body, **more):
        status, headers, text = self.ask(path, method="POST", body=json.dumps(body), **more)
        return status, headers, json.loads(text)

    def metric(self, name):
        for line in self.ask("/metrics")[2].split("\n"):
            if line.startswith(name + " "):
                return float(line.split()[-1])

    def has(self, text):
        return text in self.ask("/metrics")[2]

    def stop(self, signal_=signal.SIGTERM):
        self.process.send_signal(signal_)
        return self.process.wait(120)


def lines(path="log.jsonl"):
    with open(path) as f:
        return [json.loads(line) for line in f]


def run(*argv):
    r = subprocess.run([PROGRAM, *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return r.returncode, r.stdout, r.stderr


# --- before anything is served ---------------------------------------------------------------------


def checking():
    code, out, err = run("serve")
    claim("without a configuration it is bad usage", code == 2 and "-c FILE" in err, (code, err))
    with open("c.yaml", "w") as f:
        f.write(yaml("scrape: [ { name: e0, url: \"http://u:secret@127.0.0.1:1/metrics?key=secret\" } ]\n"
                     "serve: { listen: [ { unix: /run/a.sock, mode: 0666 } ], spop: 127.0.0.1:1 }\n"))
    code, out, err = run("serve", "-c", "c.yaml", "--check")
    claim("--check says what would be served, and no secret",
          code == 0 and "unix:/run/a.sock, mode 0666" in out and "spop      127.0.0.1:1" in out and
          "queue_depth, enforced on 100 %" in out and "secret" not in out and not os.path.exists("log.jsonl"),
          (code, out, err))
    with open("c.yaml", "w") as f:
        f.write("version: 1\npolicy: { use: queue_depth }\nserve: { listen: 0.0.0.0:9400 }\n")
    code, out, err = run("serve", "-c", "c.yaml", "--check")
    claim("--check tells all that is wrong, of serve: and of the policy",
          code == 2 and "c.yaml:3:18: 0.0.0.0:9400 can be reached" in err and "max_waiting" in err, (code, err))
    with open("c.yaml", "w") as f:
        f.write(yaml("serve: { listen: 0.0.0.0:9400, token_file: nowhere }\n"))
    code, out, err = run("serve", "-c", "c.yaml", "--check")
    claim("--check looks into the token's file", code == 2 and "nowhere: the token cannot be read" in err, (code, err))
    with open("c.yaml", "w") as f:
        f.write(yaml("serve: { listen: 127.0.0.1:%d }\n" % pages.server_port))
    code, out, err = run("serve", "-c", "c.yaml")
    claim("an address that is taken is said", code == 2 and "cannot listen" in err, (code, err))


# --- gateways -------------------------------------------------------------------------------------------


def deciding(s):
    status, headers, d = s.post("/v1/decide", {"request_id": "r1", "facts": {"tenant": "t", "prompt_tokens": 9},
                                               "metrics": {"vllm:num_requests_waiting": 1}})
    claim("decide: metrics that come with a request are decided on",
          status == 200 and d["admitted"] and d["verdict"] == "admit" and d["enforced"] and
          d["id"] == headers["x-admit-id"], (status, d))
    body = {"request_id": "r2", "metrics": [{"name": "vllm:num_requests_waiting", "labels": {"engine": "0"}, "value": 9}]}
    status, headers, d = s.post("/v1/decide", body)
    claim("decide: a refusal is the status, the object, and Retry-After rounded up",
          status == 503 and not d["admitted"] and d["verdict"] == "defer" and d["reason"] == "queue_depth" and
          d["retry_after_ms"] == 1500 and d["status"] == 503 and headers["retry-after"] == "2", (status, headers, d))
    status, headers, d = s.post("/v1/decide?always200", body)
    claim("decide: always200 answers hosts that read bodies", status == 200 and d["status"] == 503, (status, d))
    for what, body, expected in (
            ("a misspelt fact", {"facts": {"tennant": "t"}}, 'unknown fact "tennant", did you mean "tenant"?'),
            ("an unknown key", {"fact": {}}, 'unknown key "fact", did you mean "facts"?'),
            ("a fact of the wrong kind", {"facts": {"prompt_tokens": "many"}}, "not a number of its kind"),
            ("a metric that is no number", {"metrics": {"a": "1"}}, 'metric "a" is not a number'),
            ("an unknown key of a metric", {"metrics": [{"name": "a", "valu": 1}]}, 'did you mean "value"?'),
            ("an id that is given twice", {"request_id": "a", "facts": {"request_id": "b"}}, "request_id is given twice"),
            ("an id that is given twice, by two names", {"facts": {"id": "\u00e4", "request_id": "b"}}, "request_id is given twice"),
            ("a list", [], "not an object")):
        status, _, d = s.post("/v1/decide", body)
        claim("decide: %s is refused and not decided" % what, status == 400 and expected in d["error"]["message"],
              (status, d))
    status, _, text = s.ask("/v1/decide", method="POST", body="{")
    claim("decide: what is no JSON is refused", status == 400 and "line 1" in text, (status, text))
    status, headers, _ = s.ask("/v1/decide")
    claim("decide: GET is not taken, and it is said what is", (status, headers.get("allow")) == (405, "POST"), (status, headers))


def authorising(s):
    Waiting.waiting = 9
    until(5, lambda: s.has('admitperf_signal_value{signal="queue_depth",unit="requests"} 9'))
    rows = (("/v1/auth", 503), ("/v1/auth?profile=native", 503), ("/v1/auth?profile=nginx", 403),
            ("/v1/auth/nginx", 403), ("/v1/auth/envoy/v1/chat/completions?x=1", 429), ("/v1/auth/envoy", 429))
    for path, expected in rows:
        for method in ("GET", "POST", "PUT", "OPTIONS", "PATCH", "TRACE", "PROPFIND"):
            status, headers, body = s.ask(path, {"X-Request-Id": "q"}, method)
            if not (status == expected and body == "" and headers["content-length"] == "0" and
                    headers["x-admit-status"] == "503" and headers["x-admit-reason"] == "queue_depth" and
                    headers["x-admit-verdict"] == "defer" and headers["retry-after"] == "2"):
                claim("auth: %s %s refuses as its gateway understands it" % (method, path), False, (status, headers))
                return
    claim("auth: each profile refuses as its gateway understands it, without a body", True)
    claim("auth: no such profile is told", s.ask("/v1/auth?profile=apache")[0] == 404)
    claim("auth: no such path is told", s.ask("/v1/authority")[0] == 404)
    Waiting.waiting = 0
    until(5, lambda: s.has('admitperf_signal_value{signal="queue_depth",unit="requests"} 0'))
    status, headers, _ = s.ask("/v1/auth", {"X-Request-Id": "a1", "X-Tenant": "acme", "X-Prompt-Tokens": "12"})
    claim("auth: an admitted request gets its id", status == 200 and len(headers["x-admit-id"]) == 16, headers)
    return headers["x-admit-id"]


def settling(s, id_):
    _, _, d = s.post("/v1/outcome", {"id": id_, "status": 200, "ttft_ms": 12.5, "outcome": {"model": "m"}})
    claim("outcome: settles its decision", d == {"outcome": "settled"}, d)
    _, _, d = s.post("/v1/outcome", {"id": id_, "status": 200})
    claim("outcome: once", d == {"outcome": "unknown"}, d)
    status, _, d = s.post("/v1/outcome", {"status": 200})
    claim("outcome: of nothing is refused", status == 400 and "neither id nor request_id" in d["error"]["message"], d)
    s.ask("/v1/auth", {"X-Request-Id": "u1"})
    s.ask("/v1/auth", {"X-Request-Id": "u2"})
    host, port = s.address("outcomes").split(":")
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.sendto(b'<190>Nov 30 08:00:00 n: {"request_id":"u1","verdict":"admit","status":200,"ttft_ms":"8"}', (host, int(port)))
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    unix.connect(s.address("outcomes", 1))
    unix.send(b'{"request_id":"u2","verdict":"admit","status":499}\n')
    unix.send(b"nonsense")
    claim("outcome: datagrams over UDP and a unix socket settle theirs, what is none is counted",
          until(5, lambda: s.metric('admitperf_outcomes_total{fate="settled"}') == 3 and
                s.metric('admitperf_outcomes_total{fate="bad"}') == 2), s.ask("/metrics")[2])


def showing(s):
    status, headers, text = s.ask("/metrics")
    claim("metrics: text 0.0.4 unless asked otherwise", headers["content-type"].startswith("text/plain; version=0.0.4") and
          "# EOF" not in text, headers)
    status, headers, opened = s.ask("/metrics", {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"})
    kinds = {a: s.ask("/metrics", {"Accept": a})[1]["content-type"][:10] for a in (
        "Application/OpenMetrics-Text", "text/plain, application/openmetrics-text; q=0.5", "application/openmetrics-text;q=0",
        "application/openmetrics-text; version=1.0.0; q=0.000, */*", "application/openmetrics-texts")}
    claim("metrics: and for nobody who refuses it", list(kinds.values()) == 2 * ["applicatio"] + 3 * ["text/plain"], kinds)
    claim("metrics: OpenMetrics for who asks for it",
          headers["content-type"].startswith("application/openmetrics-text; version=1.0.0") and
          opened.endswith("# EOF\n") and "# TYPE admitperf_decisions counter" in opened, opened[:300])
    for what in ('admitperf_decisions_total{policy="queue_depth",role="governing",verdict="defer",reason="queue_depth",'
                 'enforced="true"}', "admitperf_decide_seconds_bucket{le=\"+Inf\"}", 'admitperf_scrape_up{target="e0"} 1',
                 'admitperf_signal_age_seconds{signal="queue_depth"}',
                 'admitperf_signal_absent{signal="kv_pressure",why="never_supplied"} 1', "admitperf_log_queue_bytes",
                 "admitperf_log_dropped_total 0", "admitperf_config_info{hash="):
        if what not in text:
            claim("metrics: %s is there" % what, False, text)
    claim("metrics: decisions, latency, signals, ages, scrapes, log and configuration are there", True)
    claim("metrics: an operator's unit is whole, and breaks no line",
          r'admitperf_signal_value{signal="odd",unit="tokens \"of\" C:\\cache, a second"} 0' in text, text)
    if shutil.which("promtool"):
        r = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
        claim("metrics: promtool finds nothing", r.returncode == 0 and not r.stderr, r.stderr + r.stdout)
    else:
        skip("metrics: promtool finds nothing", "package prometheus is not installed")


def reloading(s, config):
    with open("a.yaml", "w") as f:
        f.write(config.replace("max_waiting: 4", "max_waitng: 4"))
    before = s.ask("/metrics")[2]
    status, _, text = s.ask("/v1/reload", method="POST")
    answer = json.loads(text)
    claim("reload: a bad file changes nothing, and all that is wrong is told",
          status == 422 and not answer["reloaded"] and any("max_waitng" in e for e in answer["errors"]) and
          re.search("hash=.*", before)[0] in s.ask("/metrics")[2], (status, answer))
    with open("a.yaml", "w") as f:
        f.write(config.replace("max_waiting: 4", "max_waiting: 100").replace("threads: 2", "threads: 1"))
    status, _, text = s.ask("/v1/reload", method="POST")
    answer = json.loads(text)
    claim("reload: a good one is in force, and what is read at the start only is noted",
          status == 200 and answer["generation"] == 2 and any("serve: differs" in n for n in answer["notes"]),
          (status, answer))
    _, _, d = s.post("/v1/decide", {"metrics": {"vllm:num_requests_waiting": 9}})
    claim("reload: requests are decided by it", d["admitted"], d)
    s.process.send_signal(signal.SIGHUP)
    claim("reload: SIGHUP does as much", until(5, lambda: s.metric("admitperf_config_generation") == 3), s.text())


# What an operator may call a unit.
ODD = r"""signals: { odd: { unit: 'tokens "of" C:\cache, a second', range: [0, 1000], sources: [ { metric: vllm:num_requests_waiting } ] } }
"""


def serving():
    config = yaml(scrape() + ODD + "serve:\n  threads: 2\n  listen: [ 127.0.0.1:0, { unix: %s/s.sock, mode: 0600 } ]\n"
                  "  outcomes: { listen: [ 127.0.0.1:0, { unix: %s/o.sock, mode: 0600, group: %d } ] }\n"
                  "  spop: 127.0.0.1:0\n" % (folder, folder, os.getgid()))
    s = Sidecar(config)
    claim("it listens where it says", bool(s.http) and s.http is not True and s.ask("/healthz")[0] == 200, s.text())
    claim("it is ready once a page has come", until(5, lambda: s.ask("/readyz")[0] == 200), s.text())
    deciding(s)
    id_ = authorising(s)
    settling(s, id_)
    showing(s)
    unix = s.address("http", 1)
    mode = stat.S_IMODE(os.stat(unix[5:]).st_mode)
    claim("a unix socket has its mode and answers the same", mode == 0o600 and s.ask("/v1/auth", {"Host": "x"}, at=unix)[0] == 200, oct(mode))
    reloading(s, config)
    # Clients that stay connected do not hold it up.
    idle = socket.create_connection(s.http.split(":"))
    half = socket.create_connection(s.http.split(":"))
    half.send(b"GET /v1/auth HT")
    n = s.metric('admitperf_decide_seconds_count')
    begin, waited = time.monotonic(), waited_ms(os.getpid())
    s.process.send_signal(signal.SIGTERM)
    until(11.5, lambda: s.process.poll() is not None or time.monotonic() - begin > 11.5)
    waited = waited_ms(os.getpid()) - waited  # while it is there to be asked
    code = s.process.wait(120)
    took = time.monotonic() - begin
    claim("SIGTERM: it ends with 0, with clients that stay connected", code == 0, (code, s.text()))
    claim_in_time("SIGTERM: and within its ten seconds", 1000 * (took - 12), waited, took)
    decided = [j for j in lines() if j.get("verdict")]
    claim("SIGTERM: every decision is in the log", len(decided) == n, (len(decided), n))
    claim("SIGTERM: its sockets' paths are gone", not os.path.exists("s.sock") and not os.path.exists("o.sock"))
    outcome = [j["outcome"] for j in lines() if j.get("id") == id_ and "outcome" in j]
    claim("the outcome is in the log, with what the host added",
          sorted(map(str, outcome)) == ["{'status': 200}", "{'ttft_ms': 12.5, 'status': 200, 'model': 'm'}"], outcome)
    facts = [j["request"] for j in decided if j["request_id"] == "a1"]
    claim("the facts of the headers are in the log", facts == [{"tenant": "acme", "prompt_tokens": 12}], facts)
    idle.close()
    half.close()


def not_enforcing():
    s = Sidecar(yaml("serve: { listen: 127.0.0.1:0 }\n", ", enforce: 0", "shadow.jsonl"))
    claim("without pages to scrape it is ready at once", s.ask("/readyz")[0] == 200)
    status, headers, d = s.post("/v1/decide", {"request_id": "r", "metrics": {"vllm:num_requests_waiting": 9}})
    claim("a refusal that is not enforced answers 200, and shows what the policy said",
          status == 200 and d["admitted"] and d["verdict"] == "defer" and d["status"] == 200 and not d["enforced"] and
          headers["x-admit-verdict"] == "admit" and headers["x-admit-policy"] == "defer" and
          "retry-after" not in headers, (status, headers, d))
    code = s.stop(signal.SIGINT)
    claim("SIGINT ends it as SIGTERM does", code == 0, code)


def deaf():
    def ignore():
        die_with_us()
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    s = Sidecar(yaml("serve: { listen: 127.0.0.1:0 }\n", log="deaf.jsonl"), before=ignore)
    s.process.send_signal(signal.SIGINT)
    renewed = []
    for generation in 2, 3:  # of two that wait the lower number is read first: the second comes after all that
        s.process.send_signal(signal.SIGHUP)
        renewed.append(until(5, lambda: s.metric("admitperf_config_generation") == generation))
    claim("a SIGINT that whoever started it ignores does not stop it", all(renewed), s.text())
    code = s.stop(signal.SIGTERM)
    claim("SIGTERM does", code == 0, code)


def ageing():
    s = Sidecar(yaml(scrape() + "signals: { queue_depth: { max_age: 3s } }\nserve: { listen: 127.0.0.1:0 }\n",
                     log="age.jsonl"))
    Waiting.waiting = 9
    claim("a page's readings are decided on", until(5, lambda: s.ask("/v1/auth")[0] == 503), s.text())
    pages.shutdown()
    pages.socket.close()
    claim("with the scraped engine gone they age out, and absence admits", until(5, lambda: s.ask("/v1/auth")[0] == 200),
          s.text())
    text = s.ask("/metrics")[2]
    claim("and the page says so", 'admitperf_signal_absent{signal="queue_depth",why="stale"} 1' in text and
          'admitperf_scrape_up{target="e0"} 0' in text, text)
    said = re.findall("scrape: e0: (pages come again)?", s.text())
    claim("it is said once, not each time", said == [""] + ["pages come again", ""] * (len(said) // 2), s.text())
    s.stop()


def telling_apart():
    page = '{ name: "u:%s@e", url: "http://127.0.0.1:1" }'
    s = Sidecar(yaml("scrape: [ %s, %s ]\nserve: { listen: 127.0.0.1:0 }\n" % (page % "one", page % "two"),
                     log="alike.jsonl"))
    names = re.findall(r'^admitperf_scrape_up\{target="(.*)"\} ', s.ask("/metrics")[2], re.M)
    claim("pages whose names show alike are told apart", names == ["...@e", "...@e#2"], names)
    s.stop()


class Odd(Page):
    asked = 0

    def do_GET(self):
        Odd.asked += self.path == "/odd"
        self.answer(b"a 1\nb none\n" if self.path == "/odd" else b"a 1\n")


def leaving_out():
    odd = Pages(("127.0.0.1", 0), Odd)
    threading.Thread(target=odd.serve_forever, daemon=True).start()
    target = '{ name: %s, url: "http://127.0.0.1:%d/%s", interval: 1s, timeout: 1s }'
    told = "admitperf: page: odd:2:3: value is not a number; 1 of its lines left out\n"
    for names in ["odd"], ["even", "odd"]:
        s = Sidecar(yaml("scrape: [ %s ]\nserve: { listen: 127.0.0.1:0 }\n" % ", ".join(
            target % (name, odd.server_port, name) for name in names), log="odd%d.jsonl" % len(names)))
        Odd.asked = 0
        until(20, lambda: told in s.text() and Odd.asked > 2)
        claim("of %d pages the one with a line that is left out is said, and the line" % len(names), told in s.text(),
              s.text())
        s.stop()
        claim("it is said once", s.text().count("left out") == 1, s.text())
    odd.shutdown()


def asking_for_a_token():
    with open("token", "w") as f:
        f.write("secret-token-1\n")
    s = Sidecar(yaml("serve: { listen: 127.0.0.1:0, token_file: token }\n", log="token.jsonl"))
    right, wrong = {"Authorization": "Bearer secret-token-1"}, {"Authorization": "Bearer secret-token-2"}
    for path in ("/v1/auth", "/metrics"):
        claim("token: %s is for who has it" % path,
              [s.ask(path, h)[0] for h in ({}, wrong, right)] == [401, 401, 200], s.text())
    claim("token: /healthz and /readyz are for all", s.ask("/healthz")[0] == s.ask("/readyz")[0] == 200)
    claim("token: a gateway hands it on beside its client's key",
          s.ask("/v1/auth", {"Authorization": "Bearer sk-1", "X-Admit-Token": "secret-token-1"})[0] == 200)
    with open("token", "w") as f:
        f.write("secret-token-2\n")
    s.process.send_signal(signal.SIGHUP)
    claim("token: SIGHUP reads it anew", until(5, lambda: s.ask("/v1/auth", wrong)[0] == 200), s.text())
    claim("token: it is in nothing that is said", "secret" not in s.text(), s.text())
    s.stop()


def under_systemd():
    tcp, udp = socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    tcp.bind(("127.0.0.1", 0))
    tcp.listen(8)
    udp.bind(("127.0.0.1", 0))
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    told.bind("notify")
    told.settimeout(60)

    def before():
        die_with_us()
        for i, given in enumerate((tcp, udp)):
            os.dup2(given.fileno(), 3 + i)  # inheritable
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2", NOTIFY_SOCKET=os.path.abspath("notify"))
        os.execv(PROGRAM, [PROGRAM, "serve", "-c", "a.yaml", *OPTIONS])

    s = Sidecar(yaml("serve: { listen: unix:%s/unused.sock, outcomes: { listen: 127.0.0.1:1 } }\n" % folder,
                     log="systemd.jsonl"), before=before, close_fds=False)
    claim("systemd: it is told when requests are answered", told.recv(100) == b"READY=1")
    claim("systemd: sockets that were handed over are served instead of those of the file",
          s.http == "127.0.0.1:%d" % tcp.getsockname()[1] and s.ask("/v1/auth")[0] == 200 and
          s.address("outcomes") == "127.0.0.1:%d" % udp.getsockname()[1] and not os.path.exists("unused.sock"), s.text())
    s.process.send_signal(signal.SIGHUP)
    claim("systemd: and of a reload", [told.recv(100) for _ in range(2)] == [b"RELOADING=1", b"READY=1"])
    code = s.stop()
    claim("systemd: and when it stops", code == 0 and told.recv(100) == b"STOPPING=1", code)


def main():
    try:
        checking()
        serving()
        not_enforcing()
        telling_apart()
        leaving_out()
        deaf()
        asking_for_a_token()
        under_systemd()
        ageing()
    finally:
        for process in running:
            process.kill()
            process.wait()
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
    return status()


raise SystemExit(main())
