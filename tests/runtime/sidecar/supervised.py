# SPDX-License-Identifier: MIT
"""admitperf serve with policies that crash, hang, exit, overflow and leak, and with its processes
killed, under clients that keep their connections.

python3 supervised.py PROGRAM POLICIES: prints one line for each claim. Clients never try again: a
connection that ends under them is a request that failed.
"""
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
from claims import claim, claim_in_time, die_with_us, skip, status, until, waited_ms  # noqa: E402

PROGRAM, POLICIES = sys.argv[1:]
folder = tempfile.mkdtemp(prefix="adp-supervised-")
os.chdir(folder)
# Where it is built with sanitizers: it is to die of what it dies of.
os.environ["ASAN_OPTIONS"] = os.environ["TSAN_OPTIONS"] = (
    "handle_segv=0:handle_abort=0:handle_sigbus=0:detect_leaks=0:use_sigaltstack=0")


class Connection:
    """One kept connection; the n-th answer is the n-th request's."""

    def __init__(self, at):
        if at.startswith("unix:"):
            self.s = socket.socket(socket.AF_UNIX)
            self.s.connect(at[5:])
        else:
            host, port = at.rsplit(":", 1)
            self.s = socket.create_connection((host, int(port)))
        self.s.settimeout(30)
        self.buffer = b""

    def send(self, method, path, headers=(), body=b""):
        head = "%s %s HTTP/1.1\r\nHost: x\r\n" % (method, path)
        head += "".join("%s: %s\r\n" % h for h in headers)
        if body or method == "POST":
            head += "Content-Length: %d\r\n" % len(body)
        self.s.sendall(head.encode() + b"\r\n" + body)

    def more(self):
        got = self.s.recv(65536)
        if not got:
            raise ConnectionError("the connection ended")
        self.buffer += got

    def receive(self):
        while b"\r\n\r\n" not in self.buffer:
            self.more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        first, *rest = head.decode().split("\r\n")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in rest)}
        length = int(headers["content-length"])
        while len(self.buffer) < length:
            self.more()
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return int(first.split()[1]), headers, body.decode()

    def ask(self, *args, **more):
        self.send(*args, **more)
        return self.receive()

    def auth(self, id_, tenant=None, **more):
        headers = [("X-Request-Id", id_)] + ([("X-Tenant", tenant)] if tenant else [])
        headers += [(k.replace("_", "-"), v) for k, v in more.items()]
        return self.ask("GET", "/v1/auth", headers)

    def decide(self, id_, tenant=None):
        facts = {"tenant": tenant} if tenant else {}
        return self.ask("POST", "/v1/decide", body=json.dumps({"request_id": id_, "facts": facts}).encode())


class Sidecar:
    number = 0

    def __init__(self, way, serve="", policy="", log=None, argv=(), env=None, through=()):
        Sidecar.number += 1
        self.name = "s%d" % Sidecar.number
        self.log = log or self.name + ".jsonl"
        self.config = ("version: 1\nexperiment: e\nlog: { path: %s }\n"
                       "policy: { use: %s/crash_%s.so%s }\n"
                       "serve: { listen: [ 127.0.0.1:0, { unix: %s/%s.sock } ], outcomes: { listen: %s }%s }\n" %
                       (self.log, POLICIES, way, policy, folder, self.name,
                        "{ unix: %s/%s.out }" % (folder, self.name), serve))
        self.write(self.config)
        self.start(argv, env, through)

    def write(self, config):
        with open(self.name + ".yaml", "w") as f:
            f.write(config)

    def start(self, argv=(), env=None, through=()):
        self.said = open(self.name + ".said", "w")
        self.process = subprocess.Popen([*through, PROGRAM, "serve", "-c", self.name + ".yaml", *argv], stdin=subprocess.DEVNULL,
                                        stdout=self.said, stderr=self.said, preexec_fn=die_with_us, env=env)
        self.at = until(30, lambda: self.addresses() or self.process.poll() is not None)

    def text(self):
        with open(self.name + ".said") as f:
            return f.read()

    def addresses(self):
        found = re.findall(r"^admitperf: http on (\S+)$", self.text(), re.M)
        return found if len(found) == 2 and "outcomes on" in self.text() else None

    def worker(self):
        """The one process whose parent ours is; None: there is none now."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % pid) as f:
                    stat = f.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if stat[1] == str(self.process.pid) and stat[0] != "Z":
                return int(pid)

    def tasks(self, what):
        """The lines of this file of each of the worker's threads; those that have ended are left out."""
        worker = self.worker()
        for task in os.listdir("/proc/%d/task" % worker):
            try:
                with open("/proc/%d/task/%s/%s" % (worker, task, what)) as f:
                    yield f.read()
            except OSError:
                pass

    def rests(self):
        """Each thread sleeps: what was answered is said to be, too, so a death now cuts no connection."""
        return all(re.search(r"\) (\S)", stat)[1] == "S" for stat in self.tasks("stat"))

    def computed(self):
        """The processor time of the worker's threads, in ticks of a hundredth of a second."""
        return sum(int(n) for stat in self.tasks("stat") for n in stat.rsplit(")", 1)[1].split()[11:13])

    def looks(self):
        """How often the thread that saves states went to sleep: it comes by each second."""
        with open("/proc/%d/status" % self.worker()) as f:
            return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", f.read(), re.M)[1])

    def metrics(self):
        page = Connection(self.at[1]).ask("GET", "/metrics")[2]
        return {k: float(v) for k, v in (line.rsplit(" ", 1) for line in page.split("\n") if line and line[0] != "#")}

    def deaths(self):
        return {k.split('"')[1]: v for k, v in self.metrics().items() if k.startswith("admitperf_worker_deaths_total")}

    def stop(self, signal_=signal.SIGTERM):
        self.process.send_signal(signal_)
        return self.process.wait(120)

    def lines(self, log=None):
        with open(log or self.log) as f:
            return [json.loads(line) for line in f]

    def decisions(self):
        return [line for line in self.lines() if line.get("verdict")]


# --- the crash set under load --------------------------------------------------------------------------

CLIENTS = 8
REQUESTS = {"leak": 200}  # of each client, if not 60: it takes five or more to make it too large
# Of each way: what the line says, how the death is counted, what is said of it, and more of `serve:`.
# Who grows too large dies in no request: it steps down.
WAYS = {
    "segv": ("the policy died of SIGSEGV", "signal", "died of a signal (SIGSEGV)", ""),
    "overflow": ("the policy died of SIGSEGV", "signal", "died of a signal (SIGSEGV)", ""),
    "abort": ("the policy died of SIGABRT", "signal", "died of a signal (SIGABRT)", ""),
    "exit": ("the policy ended the process", "exit", "exited (status 3)", ""),
    "hang": ("the policy did not return", "hang", "did not return from a policy", ", limits: { policy: 100ms }"),
    "leak": (None, "memory", "grew beyond its memory", ", limits: { memory: 100MiB }"),
}


class Client(threading.Thread):
    def __init__(self, s, n, requests):
        super().__init__()
        self.requests = requests
        self.s, self.n, self.answers, self.trouble = s, n, {}, []

    def run(self):
        try:
            c = Connection(self.s.at[self.n % 2])  # TCP, unix
            for i in range(self.requests):
                id_ = "c%d-%d" % (self.n, i)
                crash = "crash" if (i + self.n * 3) % 20 == 10 else None
                answer = c.decide(id_, crash) if self.n % 4 > 1 else c.auth(id_, crash)
                self.answers[id_] = answer
        except Exception as e:
            self.trouble.append("client %d, %d answers: %r" % (self.n, len(self.answers), e))


def in_time(way, took, waited):
    """Of the last restart; the machine may be building other things."""
    bound = 600 if way == "leak" else 100  # of which it may take 500 to finish what it answers
    claim_in_time("%s: the next worker is there within %d ms" % (way, bound), took * 1000 - bound, waited, (took, waited))


def load(way):
    word, cause, said, more = WAYS[way]
    waited = waited_ms(os.getpid())
    s = Sidecar(way, more)
    requests = REQUESTS.get(way, 60)
    clients = [Client(s, n, requests) for n in range(CLIENTS)]
    for c in clients:
        c.start()
    for c in clients:
        c.join()
    answers = {k: v for c in clients for k, v in c.answers.items()}
    page = s.metrics()
    deaths = s.deaths()
    cut = sum(v for k, v in page.items() if "connections_cut" in k)
    # Who gets no processor for half a second, or has grown far beyond before anybody looked, cannot step down.
    if way == "leak" and (killed := s.text().count("grew beyond its memory (SIGKILL)")):
        skip("leak: what is claimed of who steps down", "it could not in time and was killed, %d times of 3" % killed)
        s.stop()
        return
    claim("%s: no request fails, whoever asks" % way, len(answers) == CLIENTS * requests and
          all(a[0] == 200 and a[1]["x-admit-verdict"] == "admit" for a in answers.values()),
          ([c.trouble for c in clients], s.text()))
    claim("%s: the first death restores, the second starts afresh, the third is the last" % way,
          deaths[cause] == 3 and sum(deaths.values()) == 3 and page["admitperf_worker_restarts_total"] == 3 and
          page['admitperf_policy_deaths_total{policy="crash_%s"}' % way] == 3 and
          page['admitperf_policy_quarantined{policy="crash_%s"}' % way] == 1, (deaths, s.text()))
    claim("%s: nobody's connection is cut" % way, cut == 0, page)
    # Between two calls nobody is known who made it grow.
    name = ", policy crash_%s, " % way if word else ""
    claim("%s: it is said, with the policy's name" % way,
          len(re.findall("the worker %s%s" % (re.escape(said), name), s.text())) == 3, s.text())
    in_time(way, page['admitperf_worker_restart_seconds{which="last"}'], waited_ms(os.getpid()) - waited)
    worst = page['admitperf_worker_restart_seconds{which="longest"}']
    code = s.stop()
    claim("%s: and it ends well" % way, code == 0, (code, s.text()))
    decisions = s.decisions()
    ids = [d["request_id"] for d in decisions]
    claim("%s: each request has its line, and one" % way, sorted(ids) == sorted(answers) and
          not any("dropped" in line for line in s.lines()), (len(ids), set(answers) ^ set(ids)))
    faults = [d for d in decisions if d["fault"] and "quarantine" not in d["fault"]]
    claim("%s: the lines of those it died in say so, and of which policy" % way,
          all(d["policy"] == "crash_%s" % way and d["verdict"] == "admit" for d in faults) and
          [d["fault"] for d in faults] == [word] * (3 if word else 0), [d["fault"] for d in faults])
    rest = {k: a for k, a in answers.items() if a[1]["x-admit-id"] == "0" * 16}
    claim("%s: who was answered by on_error is who it died in" % way,
          set(rest) == {d["request_id"] for d in faults}, (list(rest), faults))
    print("# %s: restart at worst %.0f ms" % (way, worst * 1000))


# --- several loops -----------------------------------------------------------------------------------


class Asker(threading.Thread):
    """Asks, with a body that takes a while to read, until told to stop; begins anew when it is cut."""
    body = json.dumps({"m%d" % i: i for i in range(1500)})

    def __init__(self, s, n):
        super().__init__()
        self.s, self.n, self.answers, self.asked, self.stop = s, n, {}, 0, False

    def run(self):
        c = None
        while not self.stop:
            id_ = "a%d-%d" % (self.n, self.asked)
            self.asked += 1
            try:
                c = c or Connection(self.s.at[0])
                if self.n % 2:
                    self.answers[id_] = c.ask("POST", "/v1/decide", body=(
                        '{"request_id":"%s","metrics":%s}' % (id_, self.body)).encode())
                else:
                    self.answers[id_] = c.auth(id_)
            except OSError:
                c = None


def several_loops():
    s = Sidecar("segv", ", threads: 2")
    askers = [Asker(s, n) for n in range(6)]
    for a in askers:
        a.start()
    crashed = {}
    for i in range(30):
        try:
            crashed["x%d" % i] = Connection(s.at[0]).auth("x%d" % i, "crash")
        except OSError:  # it was told of nowhere yet
            pass
        time.sleep(0.02)
        if i % 2:
            until(10, lambda: Connection(s.at[0]).ask("POST", "/v1/reload")[0] == 200)  # nobody in quarantine
    for a in askers:
        a.stop = True
    for a in askers:
        a.join()
    deaths = s.deaths()
    code = s.stop()
    answers = {**crashed, **{k: v for a in askers for k, v in a.answers.items()}}
    decided = [d for d in s.decisions()]
    named = {d["request_id"] for d in decided}
    nameless = [d for d in decided if d["request_id"] is None]
    unnamed = {k: a for k, a in answers.items() if k not in named}
    print("# two loops: %d deaths, %d answers, %d of them by on_error before it was known who asks" %
          (deaths["signal"], len(answers), len(unnamed)))
    claim("two loops: whoever is answered has a line, by its id or by none", code == 0 and deaths["signal"] > 10 and
          len(answers) > 100 and len(unnamed) == len(nameless), (deaths, len(answers), list(unnamed.items())[:9], len(nameless)))
    claim("two loops: who has no line of its id was answered by on_error",
          all(a[0] == 200 and a[1]["x-admit-id"] == "0" * 16 for a in unnamed.values()) and
          all(d["fault"] == "the process died while the request was decided" and d["verdict"] == "admit" for d in nameless),
          (list(unnamed.items())[:9], nameless[:9]))


# --- one thing at a time -----------------------------------------------------------------------------


def answering():
    """What is owed is answered in the way that was asked for."""
    s = Sidecar("abort", policy=", on_error: reject")
    c = Connection(s.at[0])
    status, headers, body = c.decide("r1", "crash")
    d = json.loads(body)
    claim("on_error: reject answers as a refusal, as an object", status == 503 and not d["admitted"] and
          d["reason"] == "policy_error" and "died" in d["fault"], (status, d))
    status, headers, body = c.ask("GET", "/v1/auth/nginx", [("X-Tenant", "crash"), ("X-Request-Id", "r2")])
    claim("and in the status that the gateway understands", status == 403 and headers["x-admit-status"] == "503" and
          headers["x-admit-reason"] == "policy_error" and not body, (status, headers))
    s.stop()
    lines = {d["request_id"]: d for d in s.decisions()}
    claim("and the lines say as much", all(lines[r]["verdict"] == "reject" and lines[r]["reason"] == "policy_error" and
                                           lines[r]["fault"] == "the policy died of SIGABRT" for r in ("r1", "r2")), lines)
    s = Sidecar("segv", policy=", on_error: reject, enforce: 0.5")
    c = Connection(s.at[0])
    told = {}
    for i in range(12):
        id_ = "e%d" % i
        status, headers, body = c.decide(id_, "crash")
        told[id_] = (json.loads(body)["enforced"], status)
        c.ask("POST", "/v1/reload")  # nobody in quarantine
    s.stop()
    lines = {d["request_id"]: (d["enforced"], 503 if d["enforced"] else 200) for d in s.decisions()}
    claim("with half of them governed, those are refused by on_error, the others not, and the lines say which",
          told == lines and len(set(told.values())) == 2, (told, lines))
    # Two are decided when the third of the same packet kills: all are answered, in order.
    s = Sidecar("abort")
    c = Connection(s.at[1])
    c.s.sendall(b"".join(b"GET /v1/auth HTTP/1.1\r\nHost: x\r\nX-Request-Id: p%d\r\nX-Tenant: %s\r\n\r\n" %
                         (i, b"crash" if i == 3 else b"t") for i in (1, 2, 3)))
    got = [c.receive()[1]["x-admit-id"] for _ in range(3)]
    claim("what was decided before is answered as decided", got[0] != got[1] != got[2] and got[2] == "0" * 16 and
          "0" * 16 not in got[:2], got)
    status, _, body = c.ask("POST", "/v1/outcome", body=json.dumps({"id": got[0], "status": 200, "ttft_ms": 5}).encode())
    c.s.sendall(b"".join(b"GET /v1/auth HTTP/1.1\r\nHost: x\r\nX-Request-Id: q%d\r\nX-Tenant: %s\r\n\r\n" %
                         (i, b"crash" if i == 4 else b"t") for i in range(40)) + b"GET /v1/au")
    got_too = [c.receive()[1]["x-admit-id"] for _ in range(40)]
    claim("what came behind the one that kills, in the same packet, is answered by the next worker",
          [i for i, a in enumerate(got_too) if a == "0" * 16] == [4] and len(set(got_too)) == 40, got_too)
    c.s.sendall(b"th HTTP/1.1\r\nHost: x\r\n\r\n")
    claim("and so is what had only begun", c.receive()[0] == 200)
    slow = Connection(s.at[0])
    slow.s.sendall(b"POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{\"reques")
    until(30, s.rests)
    Connection(s.at[0]).auth("q40", "crash")
    slow.s.sendall(b't_id": "s1"}')
    claim("another's request that had partly arrived is answered when it is whole", slow.receive()[0] == 200, s.text())
    claim("what was decided then has its outcome", (status, json.loads(body)) == (200, {"outcome": "settled"}), body)
    s.stop()
    claim("in the log too", [1 for line in s.lines() if line.get("id") == got[0] and "outcome" in line], s.lines())


def restoring():
    s = Sidecar("segv")
    c = Connection(s.at[0])

    def count(what):
        return int(c.auth("q", X_SLO_Class=what)[1]["x-admit-retry-after-ms"]) - 1

    for i in range(5):
        c.auth("r%d" % i)
    # Saved each second. Having come by three times it has done so once, and begun to after those five.
    before = s.looks()
    until(30, lambda: s.looks() >= before + 3)
    c.auth("x1", "crash")
    claim("state: the first death restores it", (count("asked"), count("made")) == (5, 2), s.text())
    c.auth("x2", "crash")
    claim("state: the second starts afresh", (count("asked"), count("made")) == (0, 1), s.text())
    c.auth("x3", "crash")
    status, headers, body = c.decide("q3")
    claim("state: the third puts it in quarantine", status == 200 and "quarantine" in json.loads(body)["fault"], body)
    status, _, body = c.ask("POST", "/v1/reload")
    claim("state: until a reload", status == 200 and count("made") == 1 and
          s.metrics()['admitperf_policy_quarantined{policy="crash_segv"}'] == 0, body)
    s.stop()


def reloading():
    s = Sidecar("segv")
    c = Connection(s.at[0])
    before = s.metrics()
    hash_ = [k for k in before if k.startswith("admitperf_config_info")]
    s.write("nonsense")
    c.auth("x1", "crash")
    claim("reload: a worker goes on with what was in force, whatever the file says by now",
          [k for k in s.metrics() if k.startswith("admitperf_config_info")] == hash_, s.text())
    s.write(s.config.replace(s.log, "moved.jsonl"))
    s.process.send_signal(signal.SIGHUP)
    claim("reload: SIGHUP reaches the worker", until(10, lambda: s.metrics()["admitperf_reloads_total"] == 1), s.text())
    c.auth("m1")
    until(30, s.rests)
    # Before anybody can have heard of it, its worker is gone.
    os.kill(s.process.pid, signal.SIGSTOP)
    os.kill(s.worker(), signal.SIGKILL)
    os.kill(s.process.pid, signal.SIGHUP)
    os.kill(s.process.pid, signal.SIGCONT)
    claim("reload: SIGHUP without a worker reaches the next one",
          until(10, lambda: s.metrics()["admitperf_worker_restarts_total"] == 2 and
                s.metrics()["admitperf_reloads_total"] == 1), s.text())
    c.auth("m2")
    code = s.stop()
    moved = [d["request_id"] for d in s.lines("moved.jsonl") if d.get("verdict")]
    claim("reload: the log goes where the configuration says, and stays there", code == 0 and moved == ["m1", "m2"] and
          [d["request_id"] for d in s.decisions()] == ["x1"], (moved, s.decisions()))


def handing_on():
    """What a worker read at its start and that has gone bad or away since."""
    given = [("X-Admit-Token", "a-token-of-some-length")]
    with open("token", "w") as f:
        f.write(given[0][1])
    s = Sidecar("segv", ", token_file: token")
    c = Connection(s.at[0])
    for what, spoil in (("gone", os.unlink), ("too short", lambda path: open(path, "w").close())):
        spoil("token")
        status = c.ask("GET", "/v1/auth", given + [("X-Tenant", "crash")])[0]
        claim("a token's file that is %s: the next worker goes on with the token" % what,
              status == 200 and c.ask("GET", "/v1/auth", given)[0] == 200 and c.ask("GET", "/v1/auth")[0] == 401, s.text())
    s.write(s.config.replace(", token_file: token", ""))
    s.process.send_signal(signal.SIGHUP)
    until(10, lambda: "is in force" in s.text())
    c.ask("GET", "/v1/auth", given + [("X-Tenant", "crash")])
    claim("a reload without token_file: serve: is read at the start only, the next worker's too",
          c.ask("GET", "/v1/auth")[0] == 401 and c.ask("GET", "/v1/auth", given)[0] == 200, s.text())
    s.stop()
    for what, spoil in (("gone", os.unlink), ("no policy", lambda path: (os.unlink(path), open(path, "w").write("x")))):
        shutil.copy(POLICIES + "/crash_segv.so", "mine.so")
        s = Sidecar("segv")
        s.process.terminate()
        s.process.wait(120)
        s.write(s.config.replace(POLICIES + "/crash_segv.so", folder + "/mine.so"))
        s.start()
        spoil("mine.so")
        c = Connection(s.at[0])
        c.auth("x", "crash")
        status, _, body = c.decide("y")
        claim("a policy's file that is %s: requests are answered as in quarantine, which is said" % what,
              status == 200 and "quarantine" in json.loads(body)["fault"] and "mine.so" in s.text() and
              "until a reload it is not asked" in s.text(), (body, s.text()))
        shutil.copy(POLICIES + "/crash_segv.so", "mine.so")
        status, _, body = c.ask("POST", "/v1/reload")
        claim("and with the file there, until a reload", status == 200 and json.loads(c.decide("z")[2]).get("fault") is None, body)
        s.stop()
        lines = {d["request_id"]: (d["policy"], d["fault"]) for d in s.decisions()}
        claim("and each has its line, with the policy's name", lines == {
            "x": ("crash_segv", "the policy died of SIGSEGV"), "y": ("crash_segv", "the policy is in quarantine"),
            "z": ("crash_segv", None)}, lines)


def killing():
    s = Sidecar("hang", ", threads: 2")
    c = [Connection(s.at[n % 2]) for n in range(4)]
    settled = [k.auth("a%d" % n)[1]["x-admit-id"] for n, k in enumerate(c)]
    until(30, s.rests)
    os.kill(s.worker(), signal.SIGKILL)
    claim("kill -9 of the worker: kept connections go on", all(k.auth("b%d" % n)[0] == 200 for n, k in enumerate(c)), s.text())
    claim("kill -9 of the worker: it is nobody's fault", not [k for k in s.metrics() if "policy_deaths" in k], s.text())
    out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    out.connect(s.name + ".out")
    out.send(json.dumps({"id": settled[0], "status": 200, "ttft_ms": 3}).encode())
    claim("kill -9 of the worker: outcomes as datagrams find decisions of the one before",
          until(5, lambda: s.metrics()['admitperf_outcomes_total{fate="settled"}'] == 1), s.metrics())
    worker = s.worker()
    s.process.kill()
    s.process.wait()

    def has_ended():
        try:
            with open("/proc/%d/stat" % worker) as f:
                return f.read().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            return True

    claim("kill -9 of the supervisor: the worker ends too", until(5, has_ended))
    claim("kill -9 of the supervisor: the log is whole as far as it goes",
          {d["request_id"] for d in s.decisions()} >= {"a0", "a1", "a2", "a3"}, s.decisions())
    s.start()
    claim("kill -9 of the supervisor: started again it takes its place", s.at and Connection(s.at[1]).auth("c")[0] == 200, s.text())
    claim("stopped, it leaves no path", s.stop() == 0 and not os.path.exists(s.name + ".sock") and
          not os.path.exists(s.name + ".out"), os.listdir("."))


def stopping():
    s = Sidecar("hang", ", limits: { policy: 3s }")
    c, other = Connection(s.at[0]), Connection(s.at[1])
    other.auth("before")
    until(30, s.rests)
    before = s.computed()
    c.send("GET", "/v1/auth", [("X-Request-Id", "x"), ("X-Tenant", "crash")])
    until(5, lambda: s.computed() >= before + 5)  # it turns in the policy
    s.process.send_signal(signal.SIGTERM)
    until(5, lambda: "stopping" in s.text())
    refused = []
    for at in s.at:
        try:
            Connection(at)
        except OSError as e:
            refused.append(type(e))
    claim("SIGTERM while a policy hangs: whoever comes is refused at once", refused == 2 * [ConnectionRefusedError], refused)
    status, headers, _ = c.receive()
    claim("SIGTERM while a policy hangs: who waits is answered all the same, and told that it is the last",
          status == 200 and headers["x-admit-id"] == "0" * 16 and headers.get("connection") == "close", headers)
    code = s.process.wait(120)
    lines = {d["request_id"]: d["fault"] for d in s.decisions()}
    claim("SIGTERM while a policy hangs: it ends well, everything is written",
          code == 0 and lines == {"before": None, "x": "the policy did not return"}, (code, lines, s.text()))
    # Just when one has died.
    s = Sidecar("segv")
    c = Connection(s.at[0])
    c.auth("a")
    os.kill(s.process.pid, signal.SIGSTOP)
    c.send("GET", "/v1/auth", [("X-Request-Id", "x"), ("X-Tenant", "crash")])
    until(5, lambda: s.worker() is None)
    os.kill(s.process.pid, signal.SIGTERM)
    os.kill(s.process.pid, signal.SIGCONT)
    answered = None
    try:
        answered = c.receive()[0]
    except OSError:
        pass
    code = s.process.wait(120)
    lines = [d["request_id"] for d in s.decisions()]
    claim("SIGTERM at a death: what is owed is answered, it ends well, everything is written",
          code == 0 and answered == 200 and lines == ["a", "x"], (code, answered, lines, s.text()))


def scarce():
    limit = ("import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160)); "
             "os.execv(sys.argv[1], sys.argv[1:])")
    for argv in ((), ("--one-process",)):
        s = Sidecar("segv", ", spop: 127.0.0.1:0", argv=argv, through=(sys.executable, "-c", limit))
        claim("descriptors that are too few are said at the start, %s" % (argv or "supervised",),
              "need 1396 descriptors with all else, and RLIMIT_NOFILE is 160" in s.text(), s.text())
        at = re.search(r"spop on (\S+)", s.text())[1]
        host, port = at.rsplit(":", 1)
        kept = [socket.create_connection((host, int(port))) for _ in range(250)]
        pid = s.worker() or s.process.pid

        def computed():
            with open("/proc/%d/stat" % pid) as f:
                return sum(int(n) for n in f.read().rsplit(")", 1)[1].split()[11:13])

        time.sleep(0.5)
        before = computed()
        time.sleep(1)
        took = computed() - before
        claim("and where there is none for one who comes, nothing turns", took <= 20, took)
        for k in kept:
            k.close()
        claim("and who comes later is served", until(10, lambda: Connection(s.at[0]).auth("x")[0] == 200), s.text())
        claim("by either way", until(10, lambda: Haproxy(at)))
        s.stop()


def alone():
    for more, argv in ((", supervise: false", ()), ("", ("--one-process",))):
        s = Sidecar("segv", more, argv=argv)
        claim("one process: %s" % (argv or more[2:],), s.worker() is None and
              not [k for k in s.metrics() if "worker" in k], s.text())
        c = Connection(s.at[0])
        c.send("GET", "/v1/auth", [("X-Tenant", "crash")])
        code = s.process.wait(120)
        claim("one process: a policy ends it", code == -signal.SIGSEGV, code)


def starting():
    s = Sidecar("segv", policy=", enforce: 7")
    claim("what is wrong with the configuration ends it, and is said once",
          s.process.wait(120) == 2 and s.text().count("enforce is out of range") == 1 and not os.path.exists(s.log), s.text())
    os.mkdir("folder.jsonl")
    s = Sidecar("segv", log="folder.jsonl")
    claim("so does a log that cannot be written", s.process.wait(120) == 2 and "folder.jsonl" in s.text(), s.text())


class Haproxy:
    """HAProxy's side of SPOP, with pipelining; numbers stay below 240, where they are one byte."""

    def __init__(self, at):
        host, port = at.rsplit(":", 1)
        self.s = socket.create_connection((host, int(port)))
        self.s.settimeout(30)
        self.buffer = b""
        self.s.sendall(self.frame(1, 0, 0, self.pair("supported-versions", "2.0") +
                                  self.text("max-frame-size") + b"\x03\xfc\xf0\x06" + self.pair("capabilities", "pipelining")))
        self.receive()

    @staticmethod
    def text(word):
        return bytes([len(word)]) + word.encode()

    def pair(self, key, value):
        return self.text(key) + b"\x08" + self.text(value)

    @staticmethod
    def frame(type_, stream, frame, payload):
        body = bytes([type_, 0, 0, 0, 1, stream, frame]) + payload
        return len(body).to_bytes(4, "big") + body

    def notify(self, stream, frame, id_, tenant):
        return self.frame(3, stream, frame, self.text("ask") + b"\x02" + self.pair("request_id", id_) + self.pair("tenant", tenant))

    def receive(self):
        """Stream, frame, and the texts that are set."""
        while len(self.buffer) < 4 or len(self.buffer) < 4 + int.from_bytes(self.buffer[:4], "big"):
            got = self.s.recv(65536)
            if not got:
                raise ConnectionError("the connection ended")
            self.buffer += got
        n = 4 + int.from_bytes(self.buffer[:4], "big")
        f, self.buffer = self.buffer[4:n], self.buffer[n:]
        return f[0], f[5], f[6], dict(re.findall(rb"\x01\x03\x02.(verdict|id|reason)\x08.([a-z0-9_]+)", f[7:], re.S))


def haproxy():
    s = Sidecar("abort", ", spop: 127.0.0.1:0")
    at = re.search(r"spop on (\S+)", s.text())[1]
    peers = [Haproxy(at) for _ in range(3)]
    acks, sent = {}, []
    for round_ in range(8):
        for n, p in enumerate(peers):
            batch = b""
            for k in range(8):
                id_ = "h%d-%d-%d" % (round_, n, k)
                crash = (round_, n, k) in ((2, 1, 3), (4, 2, 0))
                sent.append(id_)
                batch += p.notify(round_ + 1, k + 1, id_, "crash" if crash else "t")
            p.s.sendall(batch)
        for n, p in enumerate(peers):
            for k in range(8):
                type_, stream, frame, vars_ = p.receive()
                acks["h%d-%d-%d" % (round_, n, k)] = (type_, stream, frame) == (103, round_ + 1, k + 1) and vars_
    claim("spop: each frame has its acknowledgement, in order, on the connection it came by",
          set(acks) == set(sent) and all(v and v[b"verdict"] == b"admit" for v in acks.values()),
          {k: v for k, v in acks.items() if not v})
    claim("spop: those it died in are answered by on_error, what was decided before as decided",
          {k for k, v in acks.items() if v and v[b"id"] == b"0" * 16} == {"h2-1-3", "h4-2-0"}, acks)
    page = s.metrics()
    claim("spop: it died twice, and no connection was cut", page["admitperf_worker_restarts_total"] == 2 and
          all(v == 0 for k, v in page.items() if "connections_cut" in k), page)
    code = s.stop()
    ids = [d["request_id"] for d in s.decisions()]
    claim("spop: and each request has its line", code == 0 and sorted(ids) == sorted(sent), (code, len(ids), len(sent)))


def slow_haproxy():
    for argv in ((), ("--one-process",)):
        s = Sidecar("abort", ", spop: 127.0.0.1:0, limits: { idle: 1s, head_time: 300ms }", argv=argv)
        at = re.search(r"spop on (\S+)", s.text())[1]
        idle, part, busy = Haproxy(at), Haproxy(at), Haproxy(at)
        frame = busy.notify(1, 1, "s", "t")
        part.s.sendall(frame[:9])
        for i in range(50):  # the end of one and the begin of the next, always
            busy.s.sendall(frame[9:] + frame[:9] if i else frame + frame[:9])
            busy.receive()
            time.sleep(0.1)
        claim("spop: who says nothing for limits.idle hears a goodbye, %s" % (" ".join(argv) or "supervised"),
              idle.receive()[0] == 102 and idle.s.recv(1) == b"")
        claim("spop: a frame that is not whole within limits.head_time ends it, whole ones one after the other do not",
              part.s.recv(1) == b"")
        s.stop()


def watching():
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    told.bind("notify")
    told.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    told.settimeout(60)
    words, senders = [], set()

    def listen():  # all the time, as systemd does: such a socket holds ten messages
        while "STOPPING=1" not in words:
            text, extra, _, _ = told.recvmsg(100, 1024)
            words.append(text.decode())
            senders.add(int.from_bytes(extra[0][2][:4], "little"))

    listener = threading.Thread(target=listen)
    listener.start()
    s = Sidecar("segv", env=dict(os.environ, NOTIFY_SOCKET=os.path.abspath("notify"), WATCHDOG_USEC="200000"))
    c = Connection(s.at[0])
    c.auth("x", "crash")
    c.auth("y")
    s.stop()
    listener.join()
    claim("systemd: it hears of start and stop from the process it knows, which lives through it all",
          senders == {s.process.pid} and "READY=1" in words and words[-1] == "STOPPING=1", (words, senders))


def feeding():
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    told.bind("watchdog")
    told.settimeout(60)
    for argv in ((), ("--one-process",)):
        s = Sidecar("segv", argv=argv, env=dict(os.environ, NOTIFY_SOCKET=os.path.abspath("watchdog"), WATCHDOG_USEC="200000"))
        words = [told.recv(100) for _ in range(4)]
        claim("systemd: its watchdog is fed, %s" % (" ".join(argv) or "supervised"), words.count(b"WATCHDOG=1") >= 2, words)
        s.stop()
        told.settimeout(0.2)
        try:
            while True:
                told.recv(100)
        except OSError:
            told.settimeout(60)


try:
    for way in WAYS:
        load(way)
    several_loops()
    answering()
    restoring()
    reloading()
    handing_on()
    killing()
    stopping()
    haproxy()
    slow_haproxy()
    scarce()
    alone()
    starting()
    watching()
    feeding()
finally:
    os.chdir("/")
    shutil.rmtree(folder, ignore_errors=True)
sys.exit(status())
