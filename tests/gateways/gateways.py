# SPDX-License-Identifier: MIT
"""A gateway in front of a small engine, with admitperf serve beside it.

python3 gateways.py PROGRAM SOURCE GATEWAY: starts all three on ports that are free, and prints
one line for each claim ("ok - ..." or "not ok - ..."). GATEWAY is nginx, haproxy or caddy, whose
configurations are infra/gateways', with nothing changed but addresses; and, where no sidecar is killed, how
long an answer of ours may take, for on a busy machine it takes longer, and a gateway rightly goes on
without. Or envoy or traefik, which are emulated here by what they document. With a fourth word, FOLDER, the engine is a real one
(tests/engine, kept in FOLDER), and what is claimed is what two dozen clients at a time see of it.

Everything is started by this process and ends with it.
"""
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True  # beside the sources
from claims import (Page, Pages, claim, claim_in_time, die_with_us, free_port, skip, status,  # noqa: E402
                    until, waited_ms)
import crowd  # noqa: E402

PROGRAM, SOURCE, GATEWAY = sys.argv[1:4]
ENGINE = sys.argv[4] if len(sys.argv) > 4 else None
CONFIGS = os.path.join(SOURCE, "infra", "gateways")


# --- the engine ---------------------------------------------------------------------------------

TTFT, BETWEEN, TOKENS = 0.30, 0.10, 6


class Engine(Page):
    """Headers at once, the first token TTFT later, as vLLM and friends do."""

    protocol_version = "HTTP/1.1"
    waiting, seen = 0, []

    def do_GET(self):
        self.answer(b'vllm:num_requests_waiting{engine="0"} %d\nvllm:num_requests_running{engine="0"} 1\n' % Engine.waiting,
                    kind="text/plain; version=0.0.4")

    def chunk(self, text):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
        self.wfile.flush()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        Engine.seen.append({k.lower(): v for k, v in self.headers.items()})
        asked = json.loads(body)
        if not asked.get("stream"):
            self.answer(b'{"got":%d}' % len(body), kind="application/json")
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        time.sleep(TTFT)
        try:
            for i in range(TOKENS):
                self.chunk(b'data: {"choices":[{"delta":{"content":"tok%d"}}]}\n\n' % i)
                time.sleep(BETWEEN)
            self.chunk(b"data: [DONE]\n\n")
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass


# --- the programs -------------------------------------------------------------------------------

folder = tempfile.mkdtemp(prefix="adp-gateway-")
engine_port, http_port, udp_port, spop_port, gateway_port = (free_port() for _ in range(5))
PORTS = {"8000": engine_port, "9400": http_port, "9401": udp_port, "9402": spop_port, "8080": gateway_port}
running = []


def start(name, *argv):
    log = open(os.path.join(folder, name + ".err"), "ab")
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
                               preexec_fn=die_with_us)
    running.append(process)
    return process


def said(name):
    with open(os.path.join(folder, name + ".err"), errors="replace") as f:
        return f.read()


# What a gateway waits for ours, by file.
SHORT = {
    "nginx/admitperf.conf": "(proxy_(?:connect|read|send)_timeout)",
    "haproxy/spoe.conf": "(timeout (?:hello|processing))",
    "caddy/Caddyfile": "((?:dial|response_header)_timeout)",
}


def placed(source, to, *changes):
    """A file of infra/gateways, with our addresses in place of its own, and these changes."""
    with open(os.path.join(CONFIGS, source)) as f:
        text = f.read()
    if patient and source in SHORT:
        text, n = re.subn(SHORT[source] + r" \d+ms", r"\1 20s", text)
        assert n, source
    for old, new in changes:
        assert old in text, (source, old)
        text = text.replace(old, new)
    text = re.sub(r"127\.0\.0\.1:(\d{4})\b", lambda m: "127.0.0.1:%d" % PORTS.get(m[1], int(m[1])), text)
    path = os.path.join(folder, to)
    with open(path, "w") as f:
        f.write(text)
    return path


slo_ttft_ms = 2500
patient = True  # a gateway waits for our answers for as long as a busy machine takes


def start_sidecar(enforce="1.0", log="log.jsonl"):
    path = placed("admitperf.yaml", "admitperf.yaml", ("interval: 1s", "interval: 100ms"),
                  ("  use: queue_depth", "  use: queue_depth\n  enforce: " + enforce),
                  ("run: r1", "run: r1\ndisclosure: { slo: { ttft_ms: %d } }\nlog: { path: %s }" % (slo_ttft_ms, log)))
    process = start("sidecar", PROGRAM, "serve", "-c", path)
    if not until(20, lambda: get(http_port, "/readyz")[0] == 200):
        claim("the sidecar becomes ready", False, said("sidecar"))
        raise SystemExit(1)
    return process


def start_nginx():
    shutil.copy(os.path.join(CONFIGS, "nginx", "admitperf.js"), folder)
    placed("nginx/admitperf.conf", "admitperf.conf", ("/etc/nginx/conf.d/admitperf.js", folder + "/admitperf.js"))
    paths = "".join("%s_temp_path %s/tmp;" % (what, folder)
                    for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(os.path.join(folder, "nginx.conf"), "w") as f:
        f.write("load_module /usr/lib/nginx/modules/ngx_http_js_module.so; user root; worker_processes 1;"
                "daemon off; pid nginx.pid; error_log stderr warn; events { worker_connections 512; }"
                "http { access_log off; %s include %s/admitperf.conf; }" % (paths, folder))
    os.makedirs(os.path.join(folder, "tmp"), exist_ok=True)
    return start("gateway", "nginx", "-p", folder, "-c", os.path.join(folder, "nginx.conf"))


def start_haproxy():
    placed("haproxy/spoe.conf", "spoe.conf")
    path = placed("haproxy/haproxy.cfg", "haproxy.cfg", ("/etc/haproxy/spoe.conf", folder + "/spoe.conf"))
    return start("gateway", "haproxy", "-db", "-f", path)


CADDYS_LOG = ("output net udp/127.0.0.1:9401", "output discard")


def start_caddy(*changes):
    os.environ["HOME"] = folder
    path = placed("caddy/Caddyfile", "Caddyfile", *changes, ("http://:8080", "http://:%d" % gateway_port),
                  ("auto_https off", "auto_https off\n\thttp_port %d" % gateway_port))
    return start("gateway", "caddy", "run", "--config", path, "--adapter", "caddyfile")


# --- clients ------------------------------------------------------------------------------------


def get(port, path, headers=None, method="GET", body=None):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        c.request(method, path, body, headers or {})
        r = c.getresponse()
        return r.status, {k.lower(): v for k, v in r.getheaders()}, r.read()
    except (OSError, http.client.HTTPException) as e:
        return 0, {}, str(e).encode()
    finally:
        c.close()


def post(port, body, headers=None):
    return get(port, "/v1/chat/completions", {"Content-Type": "application/json", **(headers or {})}, "POST",
               json.dumps(body).encode())


PROMPT = {"model": "m", "messages": [{"role": "user", "content": "x" * 2000}]}


def stream(port, **more):
    """Status, when each event came, in ms, and the bytes; of a refusal its headers too."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    body = json.dumps({"stream": True, **PROMPT, **more})
    c.connect()
    begin = time.monotonic()
    c.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    r = c.getresponse()
    if r.status != 200:
        return r.status, [], {k.lower(): v for k, v in r.getheaders()}
    events, text = [], b""
    while True:
        line = r.readline()
        if not line:
            break
        text += line
        if line.startswith(b"data:"):
            events.append((time.monotonic() - begin) * 1000)
    c.close()
    return r.status, events, text


def lines():
    try:
        with open(os.path.join(folder, "log.jsonl")) as f:
            return [json.loads(line) for line in f if line.endswith("\n")]
    except FileNotFoundError:
        return []


def decisions():
    return [j for j in lines() if j.get("verdict")]


def outcomes():
    return [j for j in lines() if "outcome" in j]


def metric(name, **labels):
    """The sum of our own page's series of this name and with these labels."""
    total = 0.0
    for line in get(http_port, "/metrics")[2].decode().split("\n"):
        if re.match(re.escape(name) + r"[{ ]", line) and all('%s="%s"' % l in line for l in labels.items()):
            total += float(line.split()[-1])
    return total


def engine_waits(n):
    Engine.waiting = n
    until(10, lambda: metric("admitperf_signal_value", signal="queue_depth") == n)


# --- what holds behind each real gateway -----------------------------------------------------------


def refused_ones_are_told():
    engine_waits(9)
    status, headers, body = post(gateway_port, PROMPT)
    claim("%s: a refused request is answered 503" % GATEWAY, status == 503, (status, headers, body, said("gateway")))
    claim("%s: with Retry-After, rounded up, and the reason" % GATEWAY,
          headers.get("retry-after") == "2" and headers.get("x-admit-reason") == "queue_depth", headers)
    if GATEWAY != "caddy":  # whose answer is ours, without a body
        claim("%s: and as an error that clients of OpenAI's API understand" % GATEWAY,
              b'"message":"admission: queue_depth"' in body, body)
    claim("%s: and the engine has not seen it" % GATEWAY, not Engine.seen, Engine.seen)
    engine_waits(0)


def admitted_ones_stream():
    direct = stream(engine_port)
    Engine.seen.clear()
    before, waited = len(outcomes()), waited_ms(os.getpid())
    status, events, text = stream(gateway_port)
    waited = waited_ms(os.getpid()) - waited
    claim("%s: an admitted stream is byte for byte the engine's" % GATEWAY,
          status == 200 and text == direct[2], (status, text, said("gateway")))
    gaps = [b - a for a, b in zip(events, events[1:-1])]
    claim("%s: as many events as it wrote" % GATEWAY, len(events) == TOKENS + 1 and events[0] > TTFT * 900, events)
    claim_in_time("%s: token by token, none held back" % GATEWAY, BETWEEN * 500 - min(gaps), waited, events)
    last = until(5, lambda: len(outcomes()) > before and outcomes()[-1])
    asked = decisions()[-1]
    claim("%s: one decision and one outcome, of the same id" % GATEWAY,
          bool(last) and len(outcomes()) == before + 1 and last["id"] == asked["id"] and
          last["request_id"] == asked["request_id"] and last["outcome"].get("status") == 200 and
          last["outcome"].get("end", "done") == "done", (asked, outcomes(), said("gateway")))
    claim("%s: the engine is told the request's id" % GATEWAY,
          Engine.seen[-1].get("x-request-id") == asked["request_id"], Engine.seen[-1:])
    if GATEWAY == "caddy":
        claim("caddy: the outcome has the duration and no TTFT that would be wrong",
              bool(last) and "ttft_ms" not in last["outcome"] and last["outcome"]["total_ms"] > 800, last)
    else:
        claim_in_time("%s: its TTFT is what the client measured, within 20 ms" % GATEWAY,
                      abs(last["outcome"].get("ttft_ms", 0) - events[0]) - 20 if last else 1e9, waited, (last, events[0]))


SPELLINGS = ("/v1/chat/completions", "/%76%31/chat/completions", "/v1/chat/complet%69ons", "//v1/chat/completions",
             "/./v1/chat/completions", "/x/../v1/chat/completions", "/v1//chat/completions", "/v1/chat/completions?a=b")


def nobody_gets_by():
    """With the engine full: whatever a client sends, it is refused by us or by the gateway."""
    engine_waits(9)
    Engine.seen.clear()
    heads = {
        "62 header fields": {"X-F%d" % i: "v" for i in range(62)},
        "18 KiB of header fields": {"X-F%d" % i: "v" * 6000 for i in range(3)},
        "a tenant of 7 KiB": {"X-Tenant": "t" * 7000},
        "a tenant of odd bytes": {"X-Tenant": "\xff\t\x80\"\\"},
        "a wrong content type, and an Expect": {"Content-Type": "x", "Expect": "100-continue"},
        "a token of its own": {"Authorization": "Bearer x", "X-Admit-Verdict": "admit", "X-Admit-Id": "0" * 16},
    }
    body = json.dumps(PROMPT).encode()
    for what, head in heads.items():
        before = metric("admitperf_decisions_total")
        status, _, text = get(gateway_port, "/v1/chat/completions", head, "POST", body)
        by_itself = GATEWAY == "haproxy" and what.startswith("18") and status in (0, 400)  # more than its buffer
        claim("%s: with %s a client is asked about like any other" % (GATEWAY, what),
              by_itself or (status == 503 and metric("admitperf_decisions_total") == before + 1), (status, text))
    got = {path: get(gateway_port, path, {}, "POST", body)[0] for path in SPELLINGS}
    claim("%s: however the path is spelt, none gets to the engine unasked" % GATEWAY, not Engine.seen and
          not any(200 <= code < 300 for code in got.values()) and got[SPELLINGS[0]] == 503, (got, Engine.seen))
    engine_waits(0)


def large_bodies_pass():
    n = len(decisions())
    status, _, body = post(gateway_port, {**PROMPT, "pad": "y" * (3 << 20)})
    claim("%s: a body of 3 MiB passes" % GATEWAY, status == 200 and json.loads(body)["got"] > 3 << 20,
          (status, body[:200], said("gateway")))
    claim("%s: and was asked about like any other" % GATEWAY, bool(until(5, lambda: len(decisions()) == n + 1)),
          (n, len(decisions())))


def no_outcome_is_made_up():
    ok = until(5, lambda: len({j["id"] for j in outcomes()}) ==
               sum(j["verdict"] == "admit" for j in decisions()))
    claim("%s: each admitted request has exactly one outcome, refused ones have none" % GATEWAY,
          bool(ok) and len(outcomes()) == len({j["id"] for j in outcomes()}), (decisions(), outcomes()))


class Load:
    """Clients that ask one thing after the other, until they are told to stop."""

    def __init__(self, clients):
        self.statuses, self.stopping = [], False
        self.threads = [threading.Thread(target=self.ask, daemon=True) for _ in range(clients)]
        for t in self.threads:
            t.start()

    def ask(self):
        while not self.stopping:
            self.statuses.append(post(gateway_port, PROMPT)[0])

    def goes_on(self, n):
        """n more are answered."""
        begun = len(self.statuses)
        return until(20, lambda: len(self.statuses) >= begun + n)

    def stop(self):
        self.stopping = True
        for t in self.threads:
            t.join()


def no_request_fails(sidecar):
    engine_waits(0)
    load = Load(6)
    load.goes_on(30)
    sidecar.kill()
    sidecar.wait()
    load.goes_on(60)
    sidecar = start_sidecar()
    again = until(10, lambda: metric("admitperf_decisions_total") >= 30)
    load.stop()
    claim("%s: with the sidecar killed under load and started again, not one request fails" % GATEWAY,
          set(load.statuses) == {200}, {n: load.statuses.count(n) for n in set(load.statuses)})
    claim("%s: and under load it is asked again" % GATEWAY, bool(again), said("gateway"))
    return sidecar


def fails_open(sidecar):
    engine_waits(9)
    sidecar.kill()
    sidecar.wait()
    begin, waited = time.monotonic(), waited_ms(os.getpid())
    answers = [post(gateway_port, PROMPT)[0] for _ in range(5)]
    took, waited = time.monotonic() - begin, waited_ms(os.getpid()) - waited
    claim("%s: with the sidecar killed, requests go on" % GATEWAY, answers == [200] * 5, (answers, said("gateway")))
    claim_in_time("%s: at once" % GATEWAY, 1000 * (took - 3), waited, took)
    sidecar = start_sidecar()
    engine_waits(9)
    ok = until(10, lambda: post(gateway_port, PROMPT)[0] == 503)
    claim("%s: and with it back they are asked about again" % GATEWAY, bool(ok), said("gateway"))
    return sidecar


def stops_well(sidecar):
    post(gateway_port, PROMPT)
    n = metric("admitperf_decisions_total")
    sidecar.send_signal(signal.SIGTERM)
    code = sidecar.wait(120)
    last = decisions()[-1]["instance"]
    claim("%s: the sidecar, told to stop, writes everything and ends with 0" % GATEWAY,
          code == 0 and sum(j["instance"] == last for j in decisions()) == n, (code, n, said("sidecar")))


def gateway_is_there():
    """Started; it, and whether it answers."""
    before = metric("admitperf_spop_connections_total")
    gateway = start_gateway()
    if not until(20, lambda: get(gateway_port, "/")[0]):
        claim("%s starts" % GATEWAY, False, said("gateway"))
        return gateway, False
    if GATEWAY == "haproxy":  # which first has to see that we speak SPOP
        until(10, lambda: metric("admitperf_spop_connections_total") >= before + 2)
    until(5, lambda: len(outcomes()) == sum(j["verdict"] == "admit" for j in decisions()))  # of the looks just taken
    return gateway, True


def real():
    global patient
    sidecar = start_sidecar()
    gateway, there = gateway_is_there()
    if not there:
        return
    refused_ones_are_told()
    admitted_ones_stream()
    nobody_gets_by()
    large_bodies_pass()
    no_outcome_is_made_up()
    gateway.terminate()
    gateway.wait()
    patient = False
    if not gateway_is_there()[1]:
        return
    sidecar = no_request_fails(sidecar)
    sidecar = fails_open(sidecar)
    stops_well(sidecar)


# --- a real engine ------------------------------------------------------------------------------------

CLIENTS, SLOTS = 24, 4


def prompts(n, **more):
    """What n clients ask for; the third sends more than 1 MiB."""
    for i in range(n):
        yield {"stream": True, "stream_times": True, "model": "m", "max_tokens": 24, "temperature": 0,
               "messages": [{"role": "user", "content": "%d " % i + "y" * 600}],
               **({"pad": "z" * (3 << 19)} if i == 2 else {}), **more}


def log_of(log):
    """Its decisions and outcomes, by request id; an id that is there twice is a list of two."""
    asked, ended = {}, {}
    for j in (json.loads(line) for line in open(os.path.join(folder, log)) if line.endswith("\n")):
        if j.get("verdict"):
            asked.setdefault(j["request_id"], []).append(j)
        elif "outcome" in j:
            ended.setdefault(j["request_id"], []).append(j)
    return asked, ended


def admitted_of(asked):
    return {i for i, each in asked.items() for j in each if j["verdict"] == "admit" or not j["enforced"]}


def all_told(log, n):
    """The log, once it has n decisions and whatever was admitted has an outcome."""
    def told():
        asked, ended = log_of(log)
        return (asked, ended) if len(asked) >= n and admitted_of(asked) <= set(ended) else None

    return until(20, told) or log_of(log)


def asks(**more):
    """Once the gateway asks, the engine has nothing to do and all is told: the decisions so far."""
    def asked():
        post(gateway_port, {**PROMPT, "max_tokens": 1, **more})
        return metric("admitperf_decisions_total")

    until(20, asked)
    until(60, lambda: metric("admitperf_signal_value", signal="running") == 0 ==
          metric("admitperf_signal_value", signal="queue_depth"))
    return int(metric("admitperf_decisions_total"))


def says(text, holds, why=""):
    return claim("%s, a real engine: %s" % (GATEWAY, text), holds, why)


def crowd_is_sorted(seen, behind_at_best, asked, ended, base):
    says("of %d clients on %d slots some are refused, the others stream to the end" % (CLIENTS, SLOTS),
         seen.refused and seen.streamed and len(seen.refused) + len(seen.streamed) == CLIENTS, seen)
    says("refused ones see 503, Retry-After and the reason",
         all(s.headers.get("retry-after") == "2" and s.headers.get("x-admit-reason") == "queue_depth"
             for s in seen.refused), [s.headers for s in seen.refused])
    says("but the one whose body is 1.5 MiB streams like the others", seen.seen[2] in seen.streamed,
         (seen, said("gateway")))
    says("tokens come as straight from the engine: at most two of them further behind it",
         seen.behind() is not None and seen.behind() <= behind_at_best + 2 and
         all(len(s.left) >= 20 for s in seen.streamed), (seen.behind(), behind_at_best, str(seen)))
    deferred = [i for i, each in asked.items() for j in each if j["verdict"] != "admit"]
    says("each request has one decision line, each refused one a refusal",
         len(asked) == base + CLIENTS and all(len(each) == 1 for each in asked.values()) and
         len(deferred) == len(seen.refused), (len(asked), base, deferred))
    ids = {s.id for s in seen.streamed}
    says("each admitted one exactly one outcome, refused ones none",
         len(ids) == len(seen.streamed) and ids <= set(ended) == admitted_of(asked) and
         all(len(each) == 1 for each in ended.values()), (ids, ended, said("sidecar")))


def apart(seen, ended, what, of):
    """Of each admitted request, how far what the log says lies from what its client measured."""
    told = {s.id: ended[s.id][0]["outcome"].get(what, 0) - of(s) for s in seen.streamed if s.id in ended}
    return told, bool(told) and all(abs(ms) <= 20 + 2 * seen.late_ms for ms in told.values())


def ttft_is_true(seen, ended):
    told, holds = apart(seen, ended, "ttft_ms", lambda s: s.ttft_ms())
    says("TTFT in the log is what the client of that request measured, within 20 ms", holds, (seen.late_ms, told))


def whole_time_is_true(seen, asked, ended, base):
    """What Caddy's own log knows."""
    told, holds = apart(seen, ended, "total_ms", lambda s: s.total_ms())
    says("by its own log each admitted one has one outcome, with the whole time within 20 ms and no TTFT",
         holds and set(ended) == admitted_of(asked) and len(asked) == base + CLIENTS and
         all(len(each) == 1 and "ttft_ms" not in each[0]["outcome"] for each in ended.values()),
         (seen.late_ms, told, len(asked), len(ended)))


def pages_say_it(asked, ended):
    def run(*argv):
        r = subprocess.run([PROGRAM, *argv], cwd=folder, capture_output=True, text=True)
        return r.returncode, r.stdout, r.stderr

    code, out, err = run("report", "--json", "log.jsonl")
    page = json.loads(out) if code == 0 else {}
    met = sum(each[0]["outcome"]["ttft_ms"] <= slo_ttft_ms for each in ended.values())
    says("report on its log says LIVE, and the goodput that its lines add up to",
         page.get("verdict") == "LIVE" and page["goodput"] == met / len(asked) and
         page["instrument"]["outcomes"] == page["admitted"] == len(ended),
         (code, page.get("verdict"), page.get("goodput"), met, len(asked), err))
    code, out, err = run("compare", "--json", "without.jsonl", "log.jsonl")
    both = json.loads(out) if code in (0, 1) else {"candidates": [{}]}
    bought = both["candidates"][0]
    says("compare says what it bought: refusals, p95 of TTFT, goodput",
         bought and bought["refused_share"] == page["refused"] / page["offered"] and
         bought["difference"]["p95_ttft_ms"]["mean"] is not None and
         abs(bought["difference"]["goodput"]["mean"] -
             (page["goodput"] - both["baseline"]["goodput"]["median"])) < 1e-9 and
         [w[0] for w in bought["words"] if w[0]][:3] == ["refused", "p95 TTFT", "goodput"], (code, bought, err))


def start_gateway(*changes):
    return {"nginx": start_nginx, "haproxy": start_haproxy, "caddy": start_caddy}[GATEWAY](*changes)


def a_run(log, enforce, **more):
    """A crowd before a sidecar of its own: what it saw, the log when all is told, decisions before it."""
    sidecar = start_sidecar(enforce, log)
    base = asks(**more)
    seen = crowd.crowd(gateway_port, prompts(CLIENTS, **more), 0.06)
    asked, ended = all_told(log, base + CLIENTS)
    sidecar.send_signal(signal.SIGTERM)
    says("the sidecar, told to stop, ends with 0", sidecar.wait(120) == 0, said("sidecar"))
    return seen, asked, ended, base


def real_engine():
    global slo_ttft_ms
    bare = crowd.crowd(PORTS["8000"], prompts(SLOTS), 0)
    slo_ttft_ms = round(8 * max(s.ttft_ms() for s in bare.streamed))  # met by some, whatever the machine
    # Caddy's own log has no TTFT: there the engine tells, and Caddy is asked for its own in a run more.
    more = {"tell_outcome": "127.0.0.1:%d" % http_port} if GATEWAY == "caddy" else {}
    gateway = start_gateway(*([CADDYS_LOG] if more else []))
    seen, _, _, _ = a_run("without.jsonl", "0", **more)
    says("without enforcement all stream", len(seen.streamed) == CLIENTS, seen)
    seen, asked, ended, base = a_run("log.jsonl", "1.0", **more)
    crowd_is_sorted(seen, bare.behind(), asked, ended, base)
    ttft_is_true(seen, ended)
    pages_say_it(asked, ended)
    if GATEWAY == "caddy":
        gateway.kill()
        gateway.wait()
        start_gateway()
        whole_time_is_true(*a_run("caddy.jsonl", "1.0"))


def start_engine():
    """Its port; what it needs is made in ENGINE the first time. 77: it cannot be had here."""
    process = subprocess.Popen([os.path.join(SOURCE, "tests", "engine", "start"), ENGINE, "4", "8192"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               preexec_fn=die_with_us)
    running.append(process)
    port = process.stdout.readline()
    if not port:
        why = process.stderr.read().strip().split("\n")[-1]
        skip("%s, a real engine" % GATEWAY, why)
        raise SystemExit(0 if process.wait() == 77 else 1)
    return int(port)


# --- emulations -------------------------------------------------------------------------------------


def envoy(path, headers, allowed, answer_to_client):
    """ext_authz over HTTP, by its documentation: what the client gets, or None: forwarded."""
    with open(os.path.join(CONFIGS, "envoy", "envoy.yaml")) as f:
        prefix = re.search(r"path_prefix: (\S+)", f.read())[1]
    sent = {k: v for k, v in headers.items() if k.lower() in allowed}
    status, got, _ = get(http_port, prefix + path, {**sent, "Content-Length": "0"}, "POST")
    if status == 0 or status >= 500:
        return None  # an error: failure_mode_allow
    if status == 200:
        return None
    return status, {k: v for k, v in got.items() if k in answer_to_client or k.startswith("x-admit-")}


def emulated_envoy():
    def ask(headers=None):
        return envoy("/v1/chat/completions?x=1", headers or {"X-Request-Id": "e1"}, {"x-request-id", "x-tenant"},
                     {"retry-after"})

    sidecar = start_sidecar()
    engine_waits(9)
    refused = ask()
    claim("envoy (emulated): a refusal is a 4xx, which is a denial and no error",
          refused is not None and refused[0] == 429, refused)
    claim("envoy (emulated): with Retry-After, the reason, and the status it stands for",
          refused is not None and refused[1].get("retry-after") == "2" and
          refused[1].get("x-admit-reason") == "queue_depth" and refused[1].get("x-admit-status") == "503", refused)
    engine_waits(0)
    claim("envoy (emulated): an admitted request is forwarded", ask() is None, ask())
    claim("envoy (emulated): the client's id is decided on",
          bool(until(5, lambda: any(j["request_id"] == "e1" for j in decisions()))), decisions())
    sidecar.kill()
    sidecar.wait()
    claim("envoy (emulated): with the sidecar killed, failure_mode_allow forwards", ask() is None)


def emulated_traefik():
    def ask():
        return get(http_port, "/v1/auth", {"X-Request-Id": "t1", "X-Forwarded-Method": "POST",
                                           "X-Forwarded-Uri": "/v1/chat/completions", "X-Forwarded-Host": "h",
                                           "X-Forwarded-Proto": "http", "X-Forwarded-For": "10.0.0.1"})

    start_sidecar()
    engine_waits(9)
    status, headers, body = ask()
    claim("traefik (emulated): a refusal is the client's answer as it is",
          status == 503 and headers.get("retry-after") == "2" and headers.get("x-admit-reason") == "queue_depth" and
          body == b"", (status, headers, body))
    engine_waits(0)
    status, headers, body = ask()
    claim("traefik (emulated): a 2xx lets it pass, with the headers to be added",
          status == 200 and headers.get("x-admit-verdict") == "admit" and len(headers.get("x-admit-id", "")) == 16,
          (status, headers))
    claim("traefik (emulated): the client's id is decided on",
          bool(until(5, lambda: any(j["request_id"] == "t1" for j in decisions()))), decisions())


def end_all():
    for process in running:
        process.terminate()  # a master takes its workers along
    for process in running:
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    shutil.rmtree(folder, ignore_errors=True)


def main():
    if ENGINE:
        try:
            PORTS["8000"] = start_engine()
            real_engine()
        finally:
            end_all()
        return status()
    server = Pages(("127.0.0.1", engine_port), Engine)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        {"envoy": emulated_envoy, "traefik": emulated_traefik}.get(GATEWAY, real)()
    finally:
        end_all()
    return status()


raise SystemExit(main())
