# SPDX-License-Identifier: MIT
"""What examples/asgi makes of every end a request can have, of paths, and of a process that
starts and shuts down twice. Prints a claim a line.

    asgi_ends.py WORK_FOLDER        with examples/asgi in PYTHONPATH

A server is played here, message by message, so that nothing depends on time; then the same clients
leave a Starlette application on uvicorn.
"""
import asyncio
import contextlib
import io
import json
import logging
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
from claims import claim, status, until  # noqa: E402

LOG = os.path.join(sys.argv[1], "ends.jsonl")
os.environ["ADMITPERF_CONFIG"] = os.path.join(sys.argv[1], "ends.yaml")
with open(os.environ["ADMITPERF_CONFIG"], "w", encoding="utf-8") as file:
    file.write("version: 1\nexperiment: ends\nlog: { path: \"%s\" }\n"
               "policy: { use: queue_depth, params: { max_waiting: 8 } }\n" % LOG)

import admitperf_asgi  # noqa: E402  reads the environment
import uvicorn  # noqa: E402
from starlette.requests import ClientDisconnect, Request  # noqa: E402
from starlette.responses import JSONResponse, StreamingResponse  # noqa: E402

PATIENCE_S = 10
START = {"type": "http.response.start", "status": 200, "headers": []}


def part(text, more=True):
    return {"type": "http.response.body", "body": text, "more_body": more}


class Exchange:
    """A request as a server hands it over, and its client, who leaves when `left` is set."""

    def __init__(self, name, path="/v1/chat/completions", root="", method="POST", headers=(),
                 body=(b"{}",)):
        self.scope = {"type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"},
                      "http_version": "1.1", "method": method, "path": path, "root_path": root,
                      "query_string": b"", "scheme": "http", "server": ("test", 80),
                      "headers": [(b"x-request-id", name.encode()), *headers]}
        self.body = list(body)
        self.left, self.told = asyncio.Event(), asyncio.Event()
        self.asked, self.got = 0, []
        self.begun, self.over = time.monotonic(), None
        self.breaks_at = None  # from this message on, send raises

    async def receive(self):
        self.asked += 1
        if self.body:
            text = self.body.pop(0)
            return {"type": "http.request", "body": text, "more_body": bool(self.body)}
        await self.left.wait()
        self.told.set()
        return {"type": "http.disconnect"}

    async def send(self, message):
        if self.breaks_at is not None and len(self.got) >= self.breaks_at:
            raise OSError("the client has left")
        self.got.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self.left.set()  # the answer is whole: servers disconnect
            for _ in range(5):  # and some do so before they return
                await asyncio.sleep(0)

    async def leave(self):
        """Until whoever receives has been told; if nobody does, that is what is wrong."""
        self.left.set()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.told.wait(), 1)


exchanges = {}  # by id, for the applications below


# --- applications: how each comes to its end, what must be recorded of it, and whether with TTFT


async def whole(x, request, receive, send):
    await JSONResponse(1)(request.scope, receive, send)


async def breaks(x, request, receive, send):
    await send(START)
    await send(part(b"a"))
    raise ValueError("of the application")


async def never_asks(x, request, receive, send):
    await x.leave()
    await JSONResponse(1)(request.scope, receive, send)


async def never_asks_and_streams(x, request, receive, send):
    await send(START)
    await send(part(b"a"))
    await x.leave()
    await send(part(b"b"))
    await send(part(b"", False))


async def two_parts(x, request, receive, send):
    await send(START)
    await send(part(b"a"))
    await send(part(b"b", False))


async def asks_now_and_then(x, request, receive, send):
    await request.body()
    before = await request.is_disconnected()
    await x.leave()
    if not before and await request.is_disconnected() and await request.is_disconnected():
        await JSONResponse(None)(request.scope, receive, send)


async def listens_beside(x, request, receive, send):  # as vLLM's with_cancellation
    async def listen():
        while (await receive())["type"] != "http.disconnect":
            pass
    await request.body()
    both = [asyncio.ensure_future(listen()), asyncio.ensure_future(listen())]
    await x.leave()
    await asyncio.wait(both, timeout=PATIENCE_S)
    if all(one.done() for one in both):
        await JSONResponse(None)(request.scope, receive, send)


async def streams(x, request, receive, send):
    async def chunks():
        yield b"a"
        await x.leave()
        await asyncio.sleep(PATIENCE_S)
        yield b"b"
    await StreamingResponse(chunks())(request.scope, receive, send)


async def reads_an_upload(x, request, receive, send):
    x.left.set()
    with contextlib.suppress(ClientDisconnect):
        await request.body()


async def goes_on(x, request, receive, send):
    await JSONResponse(1)(request.scope, receive, send)
    x.recorded_by_then, x.over = x.scope["headers"][0][1] in recorded, time.monotonic()
    await asyncio.sleep(0.2)
    raise ValueError("of a background task")


ENDS = [  # name, application, how the server is, end, with TTFT
    ("whole", whole, {}, "done", True),
    ("breaks", breaks, {}, "failed", True),
    ("never asks", never_asks, {}, "cancelled", False),
    ("never asks and streams", never_asks_and_streams, {}, "cancelled", True),
    ("asks now and then", asks_now_and_then, {}, "cancelled", False),
    ("listens beside", listens_beside, {}, "cancelled", False),
    ("streams", streams, {}, "cancelled", True),
    ("reads an upload", reads_an_upload, {"body": (b"a", None)}, "cancelled", False),
    ("send raises at the first byte", whole, {"breaks_at": 1}, "cancelled", False),
    ("send raises at the second", two_parts, {"breaks_at": 2}, "cancelled", True),
    ("goes on in the background", goes_on, {}, "done", True),
]
applications = {name: run for name, run, *_ in ENDS}
recorded = []


async def application(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    if scope["path"] == "/metrics":
        await send(START)
        return await send(part(b"vllm:num_requests_waiting 0\n", False))
    name = dict(scope["headers"])[b"x-request-id"].decode()
    run = applications.get(name, whole)
    await run(exchanges.get(name), Request(scope, receive), receive, send)


async def alive(middleware, work):
    """work() between startup and shutdown, as servers and TestClient do it."""
    to, of = asyncio.Queue(), asyncio.Queue()
    life = asyncio.create_task(middleware({"type": "lifespan"}, to.get, of.put))

    async def tell(what):
        await to.put({"type": "lifespan." + what})
        answer = asyncio.create_task(of.get())
        await asyncio.wait([life, answer], timeout=PATIENCE_S,
                           return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise life.exception() or RuntimeError("no answer to " + what)

    await tell("startup")
    await work()
    await tell("shutdown")
    await life


async def ask(middleware, exchange):
    exchanges[exchange.scope["headers"][0][1].decode()] = exchange
    with contextlib.suppress(ValueError, OSError):
        await asyncio.wait_for(middleware(exchange.scope, exchange.receive, exchange.send),
                               PATIENCE_S)
    return exchange


def lines():
    with open(LOG, encoding="ascii") as log:
        return [json.loads(line) for line in log]


def decided():
    return [line["request_id"] for line in lines() if "verdict" in line]


def outcomes():
    ends = {}
    for line in lines():
        if "outcome" in line:
            ends.setdefault(line["request_id"], []).append(line["outcome"])
    return ends


# --- what is claimed


def every_end(middleware):
    def record(runtime, decision, result, of=admitperf_asgi.Runtime.outcome):
        recorded.append(current[0])
        of(runtime, decision, result)

    current = [b""]

    async def work():
        for name, _, how, _, _ in ENDS:
            current[0] = name.encode()
            exchange = Exchange(name)
            exchange.body = [text for text in how.get("body", (b"{}",)) if text is not None]
            if None in how.get("body", ()):  # the rest never comes
                exchange.receive = cut_short(exchange)
            exchange.breaks_at = how.get("breaks_at")
            await ask(middleware, exchange)

    kept = admitperf_asgi.Runtime.outcome
    admitperf_asgi.Runtime.outcome = record
    asyncio.run(alive(middleware, work))
    admitperf_asgi.Runtime.outcome = kept
    ends = outcomes()
    for name, _, _, end, with_ttft in ENDS:
        of = ends.get(name, [])
        claim("%s: one outcome, %s, %s TTFT" % (name, end, "with" if with_ttft else "without"),
              len(of) == 1 and of[0].get("end") == end and ("ttft_ms" in of[0]) == with_ttft, of)
    x = exchanges["goes on in the background"]
    claim("the outcome is there when the last byte is sent, whatever goes on behind it",
          x.recorded_by_then and ends["goes on in the background"][0]["total_ms"] <= 1000 * (x.over - x.begun),
          (x.recorded_by_then, x.over - x.begun, ends["goes on in the background"]))


def cut_short(exchange):
    async def receive():
        if exchange.body:
            return {"type": "http.request", "body": exchange.body.pop(0), "more_body": True}
        await exchange.left.wait()
        return {"type": "http.disconnect"}
    return receive


def messages_are_the_applications(middleware):
    seen = {}

    async def late(x, request, receive, send):
        await x.leave()  # all of it has been received by now, and not by us
        seen["late"] = [(await receive()) for _ in range(5)]

    async def never(x, request, receive, send):
        for _ in range(200):
            await asyncio.sleep(0)
        seen["ahead"] = x.asked
        await JSONResponse(1)(request.scope, receive, send)

    async def expects(x, request, receive, send):
        for _ in range(200):
            await asyncio.sleep(0)
        seen["before"] = x.asked
        seen["body"] = await request.body()
        await JSONResponse(1)(request.scope, receive, send)

    applications.update(late=late, long=never, expects=expects)

    async def work():
        await ask(middleware, Exchange("late", body=(b"a", b"b", b"c")))
        await ask(middleware, Exchange("long", body=[b"x"] * 1000))
        await ask(middleware, Exchange("expects", headers=[(b"expect", b"100-continue")]))

    asyncio.run(alive(middleware, work))
    late_ones = seen["late"]
    claim("the messages reach the application in their order, the disconnect last and for good",
          [m.get("body") for m in late_ones] == [b"a", b"b", b"c", None, None] and
          [m["type"] for m in late_ones[3:]] == ["http.disconnect"] * 2, late_ones)
    claim("of a body that nobody reads, no more than a few messages are held",
          seen["ahead"] <= admitperf_asgi.AHEAD + 1, seen["ahead"])
    claim("a client that waits to be told to go on is told when the application asks",
          seen["before"] == 0 and seen["body"] == b"{}", seen)


PATHS = [  # path, root_path, method, governed
    ("/v1/chat/completions", "", "POST", True),
    ("/v1/chat/completions/", "", "POST", True),
    ("/api/v1/chat/completions", "/api", "POST", True),
    ("/api/v1/completions/", "/api/", "POST", True),
    ("/v1/messages", "/api", "POST", True),  # as servers before ASGI 3.0's clarification
    ("/v1/responses", "/v1", "POST", True),
    ("/api/v1/chat/completions", "", "POST", False),
    ("/v1/models", "", "POST", False),
    ("/v1/chat/completions", "", "GET", False),
    ("/v1/chat/completions/x", "", "POST", False),
]


def paths(middleware):
    async def work():
        for i, (path, root, method, _) in enumerate(PATHS):
            await ask(middleware, Exchange("path-%d" % i, path, root, method))

    asyncio.run(alive(middleware, work))
    ids = decided()
    for i, (path, root, method, governed) in enumerate(PATHS):
        claim("%s %s below \"%s\" is %s" % (method, path, root,
                                            "governed" if governed else "not governed"),
              ("path-%d" % i in ids) == governed, ids)


def lives(middleware):
    """The lives above were one middleware's, each in a loop of its own."""
    claim("a second life in one process decides and records as the first",
          "whole" in decided() and "late" in decided() and "path-0" in decided(), decided())

    async def after():
        await alive(middleware, nothing)
        return [await ask(middleware, Exchange("after-%d" % i)) for i in range(2)]

    async def nothing():
        pass

    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        answered = asyncio.run(after())
    claim("after a shutdown requests pass",
          all(x.got and x.got[0]["status"] == 200 for x in answered), [x.got for x in answered])
    claim("undecided, which is said once",
          not any(name.startswith("after") for name in decided()) and
          said.getvalue().count("has shut down") == 1, (decided(), said.getvalue()))


# --- a runtime that cannot be opened


def virtual_mb():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def unopenable():
    """What opens and cannot be started: its log's folder is a file."""
    good = admitperf_asgi.CONFIG
    admitperf_asgi.CONFIG = os.path.join(sys.argv[1], "unopenable.yaml")
    with open(admitperf_asgi.CONFIG, "w", encoding="utf-8") as file:
        file.write("version: 1\nlog: { path: \"%s/x.jsonl\" }\n"
                   "policy: { use: no_admission }\n" % good)
    before = virtual_mb()
    for _ in range(20):
        with contextlib.suppress(RuntimeError):
            admitperf_asgi.Runtime(admitperf_asgi.CONFIG)
    claim("who cannot start the runtime keeps nothing of it", virtual_mb() - before < 200,
          "%.0f MB" % (virtual_mb() - before))
    middleware = admitperf_asgi.AdmitPerf(application)
    tried, runtime_of = [], admitperf_asgi.Runtime

    def counted(config):
        tried.append(config)
        return runtime_of(config)

    admitperf_asgi.Runtime = counted
    said = io.StringIO()

    async def work():
        answered = [await ask(middleware, Exchange("unopened-%d" % i)) for i in range(20)]
        middleware.retry = 0.0  # as if the time had passed
        answered.append(await ask(middleware, Exchange("unopened-again")))
        middleware.retry, admitperf_asgi.CONFIG = 0.0, good
        await ask(middleware, Exchange("opened-after-all"))
        middleware.close()
        return answered

    with contextlib.redirect_stderr(said):
        answered = asyncio.run(work())
    admitperf_asgi.Runtime = runtime_of
    claim("requests pass while it cannot be opened",
          all(x.got and x.got[0]["status"] == 200 for x in answered), [x.got for x in answered])
    claim("it is tried once, then once more, and then it opens", len(tried) == 3, tried)
    claim("which is said once", said.getvalue().count("cannot be opened") == 1, said.getvalue())
    claim("and requests are decided from then on", "opened-after-all" in decided(), decided())
    admitperf_asgi.CONFIG = os.path.join(sys.argv[1], "unopenable.yaml")
    for mode in "on", "auto":
        server, said = asyncio.run(started(mode))
        claim("with lifespan \"%s\" a pure application does not start" % mode,
              server.should_exit and not server.started, said)
        claim("and the server says why", "admitperf: cannot be opened: " in said, said)
    admitperf_asgi.CONFIG = good


async def started(mode):
    """A server that was told to start, and what it said; ended if it has."""
    said = io.StringIO()
    log = logging.StreamHandler(said)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(admitperf_asgi.AdmitPerf(application), lifespan=mode,
                                           log_level="error", log_config=None))
    logging.getLogger("uvicorn.error").addHandler(log)
    server.install_signal_handlers = lambda: None
    running = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not running.done():
        await asyncio.sleep(0.01)
    server.should_exit = server.should_exit or server.started
    with contextlib.suppress(SystemExit):
        await asyncio.wait_for(running, PATIENCE_S)
    logging.getLogger("uvicorn.error").removeHandler(log)
    return server, said.getvalue()


# --- the same with Starlette on uvicorn


class OnUvicorn:
    """Applications that wait until they are told to go on, which is after the client has left."""

    def __init__(self):
        self.begun, self.go = set(), asyncio.Event()

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope["path"] == "/metrics":
            return await application(scope, receive, send)
        name = dict(scope["headers"]).get(b"x-request-id", b"").decode()
        if name.startswith("uvicorn"):
            await getattr(self, name.split("-")[1])(Request(scope, receive), receive, send, name)
        else:
            await JSONResponse(1)(scope, receive, send)

    async def slow(self, request, receive, send, name):
        self.begun.add(name)
        await self.go.wait()
        await JSONResponse(1)(request.scope, receive, send)

    async def poll(self, request, receive, send, name):
        await request.body()
        self.begun.add(name)
        while not await request.is_disconnected():
            await asyncio.sleep(0.005)
        await JSONResponse(None)(request.scope, receive, send)

    async def raw(self, request, receive, send, name):
        await send(START)
        await send(part(b"a"))
        self.begun.add(name)
        await self.go.wait()
        await send(part(b"b"))
        await send(part(b"", False))

    async def body(self, request, receive, send, name):
        self.begun.add(name)
        with contextlib.suppress(ClientDisconnect):
            await request.body()
        await JSONResponse(1)(request.scope, receive, send)


async def request_of(port, name, length=2):
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(("POST /v1/chat/completions HTTP/1.1\r\nHost: test\r\nX-Request-Id: %s\r\n"
                  "Content-Length: %d\r\n\r\n{}" % (name, length)).encode())
    return writer


async def served():
    behind = OnUvicorn()
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(admitperf_asgi.AdmitPerf(behind), lifespan="on",
                                           log_level="critical"))
    server.install_signal_handlers = lambda: None
    running = asyncio.create_task(server.serve(sockets=[listener]))
    names = ["uvicorn-slow", "uvicorn-poll", "uvicorn-raw", "uvicorn-body"]

    async def seen(holds):
        for _ in range(PATIENCE_S * 100):
            if holds():
                return
            await asyncio.sleep(0.01)

    await seen(lambda: server.started)
    writers = [await request_of(port, name, 1000 if name.endswith("body") else 2)
               for name in names]
    await seen(lambda: behind.begun == set(names))
    held = list(server.server_state.connections)
    for writer in writers:
        writer.transport.abort()
    await seen(lambda: not server.server_state.connections)  # uvicorn knows that they left
    await asyncio.sleep(0)
    behind.go.set()
    server.should_exit = True
    await asyncio.wait_for(running, PATIENCE_S)
    return names, len(held)


def on_uvicorn():
    names, held = asyncio.run(served())
    claim("four clients were there to leave", held == 4, held)
    until(PATIENCE_S, lambda: all(name in outcomes() for name in names))
    for name in names:
        of = outcomes().get(name, [])
        claim("%s: who leaves is cancelled, with TTFT only if a byte had come" % name,
              len(of) == 1 and of[0]["end"] == "cancelled" and
              ("ttft_ms" in of[0]) == name.endswith("raw"), of)


def main():
    middleware = admitperf_asgi.AdmitPerf(application)
    every_end(middleware)
    messages_are_the_applications(middleware)
    paths(middleware)
    lives(middleware)
    unopenable()
    on_uvicorn()
    return status()


sys.exit(main())
