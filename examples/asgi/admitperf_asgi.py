# SPDX-License-Identifier: MIT
"""AdmitPerf as ASGI middleware, over ctypes: nothing to install but libadmitperf.

    ADMITPERF_CONFIG=admitperf.yaml vllm serve MODEL --middleware admitperf_asgi.AdmitPerf

or app.add_middleware(AdmitPerf) in Starlette and FastAPI. Before a request is handed on it asks
the policy; one that is refused gets 503, 429 or 413, Retry-After, and the reason in an error as
OpenAI's API has them. What is admitted passes through as it is, chunk for chunk, and its outcome
is recorded when the last byte of its body is sent, not after background tasks: TTFT at the first,
and whether it ended, failed, or was given up by the client. What is sent to a client that has left
counts for nothing.

To know that it has left, the server's messages are read here as they come and handed on in their
order, also where the application asks for none: at most AHEAD of them wait for it. So a client
that leaves before the application has read the rest of a long body is noticed later.

The metrics are the application's own: its /metrics is asked, in this process, each INTERVAL_S.

One runtime for each process, used by its event loop's thread alone, and opened at the first
event: after a server has forked its workers. It is closed when the application has shut down, and
what is asked after that passes undecided; where the application starts up again, a new one opens.
One that cannot be opened ends a startup; without one, requests pass undecided, which is said once,
and it is tried again no sooner than RETRY_S later.
"""
import asyncio
import atexit
import ctypes
import json
import os
import sys
import time
import uuid

CONFIG = os.environ.get("ADMITPERF_CONFIG", "admitperf.yaml")
LIBRARY = os.environ.get("ADMITPERF_LIBRARY", "libadmitperf.so.1")
INTERVAL_S = float(os.environ.get("ADMITPERF_INTERVAL_S", "1"))
PATHS = {"/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"}
AHEAD = 16  # messages; of uvicorn's, 64 KiB each
RETRY_S = 10  # from one attempt to open to the next, where requests come before it opens

# --- <admitperf/runtime.h>, as much of it as is used

DONE, FAILED, CANCELLED = 1, 2, 3
HAS_TTFT, HAS_TOTAL, HAS_STATUS = 1, 2, 16
u32, u64, f64, text = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_double, ctypes.c_char_p


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("line", u32), ("column", u32),
                ("file", ctypes.c_char * 256), ("text", ctypes.c_char * 512)]


class Errors(ctypes.Structure):
    _fields_ = [("list", ctypes.POINTER(Error)), ("n", u32), ("cap", u32)]


class Facts(ctypes.Structure):
    _fields_ = [("size", u32), ("present", u32), ("request_id", text), ("tenant", text),
                ("session", text), ("slo_class", text), ("prompt_tokens", u64),
                ("max_output_tokens", u64), ("priority", ctypes.c_int64),
                ("ttft_deadline_ms", f64)]


class Decision(ctypes.Structure):
    _fields_ = [("size", u32), ("admitted", u32), ("action", u32), ("status", u32),
                ("retry_after_ms", u32), ("enforced", u32), ("policy_action", u32),
                ("reserved", u32), ("reason", text), ("fault", text), ("id", u64)]


class Result(ctypes.Structure):
    _fields_ = [("size", u32), ("end", u32), ("present", u32), ("ok", ctypes.c_int32),
                ("status", u32), ("n_extra", u32), ("prompt_tokens", u64),
                ("output_tokens", u64), ("ttft_ms", f64), ("total_ms", f64),
                ("extra", ctypes.c_void_p)]


class Runtime:
    """One process's runtime, with one lane. Raises RuntimeError with what the library says."""

    def __init__(self, config):
        self.library = ctypes.CDLL(LIBRARY)
        self.library.adp_lane_outcome.argtypes = [
            ctypes.c_void_p, u64, text, ctypes.POINTER(Result)]
        self.library.adp_lane_close.restype = None
        self.runtime, self.lane = ctypes.c_void_p(), ctypes.c_void_p()
        errors, error = Errors(), Error()
        code = self.library.adp_runtime_open(
            ctypes.byref(self.runtime), os.fsencode(config), ctypes.byref(errors))
        said = [self.say(errors.list[i]) for i in range(errors.n)]
        self.library.adp_errors_free(ctypes.byref(errors))
        if code < 0:
            raise RuntimeError("\n".join(said))
        for note in said:
            print("admitperf: " + note, file=sys.stderr)
        if (self.library.adp_runtime_start(self.runtime, ctypes.byref(error)) < 0
                or self.library.adp_lane_open(ctypes.byref(self.lane), self.runtime,
                                              ctypes.byref(error)) < 0):
            self.library.adp_runtime_close(self.runtime, None)
            raise RuntimeError(self.say(error))
        self.process = os.getpid()
        atexit.register(self.close)

    def say(self, error):
        line = ctypes.create_string_buffer(1024)
        self.library.adp_error_print(ctypes.byref(error), line, ctypes.c_size_t(len(line)))
        return line.value.decode()

    def publish(self, page):
        if self.runtime:
            self.library.adp_runtime_publish_text(
                self.runtime, page, ctypes.c_size_t(len(page)), None)

    def decide(self, facts):
        decision = Decision(size=ctypes.sizeof(Decision))
        self.library.adp_lane_decide(self.lane, ctypes.byref(facts), ctypes.byref(decision))
        return decision

    def outcome(self, decision, result):
        if self.runtime:
            self.library.adp_lane_outcome(self.lane, decision.id, None, ctypes.byref(result))

    def close(self):
        """Writes what was recorded. In a child that inherited the runtime: not its to close."""
        if self.runtime and os.getpid() == self.process:
            error = Error()
            self.library.adp_lane_close(self.lane)
            if self.library.adp_runtime_close(self.runtime, ctypes.byref(error)) < 0:
                print("admitperf: " + self.say(error), file=sys.stderr)
        self.runtime = None
        atexit.unregister(self.close)


# --- the middleware


def is_governed(scope):
    """The path with root_path before it, as ASGI 3 has it and older servers do not; with or
    without a slash at the end."""
    if scope["type"] != "http" or scope["method"] != "POST":
        return False
    path, root = scope["path"].rstrip("/"), scope.get("root_path", "").rstrip("/")
    return path in PATHS or (path.startswith(root) and path[len(root):] in PATHS)


def facts_of(scope):
    headers = dict(scope["headers"])
    return Facts(size=ctypes.sizeof(Facts),
                 request_id=headers.get(b"x-request-id") or uuid.uuid4().hex.encode(),
                 tenant=headers.get(b"x-tenant-id"),
                 session=headers.get(b"x-session-id"),
                 slo_class=headers.get(b"x-slo-class"))


def refusal(decision):
    """The two messages of a refused request's answer."""
    reason = decision.reason.decode() if decision.reason else "refused"
    kind = "rate_limit_error" if decision.status == 429 else (
        "invalid_request_error" if decision.status == 413 else "overloaded_error")
    body = json.dumps({"error": {"message": "not admitted: " + reason, "type": kind,
                                 "param": None, "code": reason}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)),
               (b"x-admit-id", b"%016x" % decision.id), (b"x-admit-reason", reason.encode())]
    if decision.retry_after_ms:
        headers += [(b"retry-after", b"%d" % -(-decision.retry_after_ms // 1000)),
                    (b"retry-after-ms", b"%d" % decision.retry_after_ms)]
    return ({"type": "http.response.start", "status": decision.status, "headers": headers},
            {"type": "http.response.body", "body": body})


class Flight:
    """One admitted request on its way: watches its messages pass and ends in one outcome."""

    def __init__(self, runtime, decision):
        self.runtime, self.decision = runtime, decision
        self.start = time.perf_counter()
        self.first = self.left = None  # when
        self.status = 0
        self.ending = self.recorded = False

    def sending(self, message):
        # Servers disconnect what is answered: from here on that does not mean that it has left.
        if not self.left:
            self.ending = is_last(message)

    def sent(self, message):
        if self.left:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message["type"] == "http.response.body":
            if self.first is None and message.get("body"):
                self.first = time.perf_counter()
            if is_last(message):
                self.record(DONE if self.status < 500 else FAILED, time.perf_counter())

    def leave(self):
        if not self.left:
            self.left = time.perf_counter()

    def disconnected(self):
        if not self.ending:
            self.leave()

    def over(self):
        """The application is through with it, whatever it has sent."""
        if self.left:
            self.record(CANCELLED, self.left)
        else:
            self.record(FAILED, time.perf_counter())

    def record(self, end, now):
        if self.recorded:
            return
        self.recorded = True
        # ok: whether it met its SLO is not known here. Left 0 it would say that it did not.
        result = Result(size=ctypes.sizeof(Result), end=end, ok=-1, present=HAS_TOTAL,
                        total_ms=1e3 * (now - self.start))
        if self.status:
            result.present |= HAS_STATUS
            result.status = self.status
        if self.first is not None:
            result.present |= HAS_TTFT
            result.ttft_ms = 1e3 * (self.first - self.start)
        self.runtime.outcome(self.decision, result)


def is_last(message):
    return message["type"] == "http.response.body" and not message.get("more_body", False)


class Listener:
    """Reads the server's messages as they come and hands them on: a disconnect is then known
    also where nobody asks. None is lost when an asker is cancelled, and one that is there is
    had without waiting (Starlette's is_disconnected counts on both)."""

    def __init__(self, receive, flight):
        self.receive, self.flight = receive, flight
        self.queue = asyncio.Queue(AHEAD)
        self.task = None

    def begin(self):
        if self.task is None:
            self.task = asyncio.get_running_loop().create_task(self.listen())

    async def listen(self):
        try:
            while True:
                message = await self.receive()
                if message["type"] == "http.disconnect":
                    self.flight.disconnected()
                await self.queue.put(message)
                if message["type"] == "http.disconnect":
                    return
        except Exception as error:  # the server's, for who asks
            await self.queue.put(error)

    async def ask(self):
        self.begin()
        message = await self.queue.get()
        failed = isinstance(message, Exception)
        if failed or message["type"] == "http.disconnect":
            self.queue.put_nowait(message)  # the last there is: stays, for whoever else asks
        if failed:
            raise message
        return message

    def end(self):
        if self.task is not None:
            self.task.cancel()


class AdmitPerf:
    def __init__(self, app):
        self.app = app
        self.runtime = self.publisher = None
        self.closed = self.told = False
        self.failed, self.retry = None, 0.0  # why it did not open, and when to try again

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, self.through_life(send))
        if not is_governed(scope) or not self.is_open():
            return await self.app(scope, receive, send)
        decision = self.runtime.decide(facts_of(scope))
        if not decision.admitted:
            for message in refusal(decision):
                await send(message)
            return
        await self.watch(Flight(self.runtime, decision), scope, receive, send)

    async def watch(self, flight, scope, receive, send):
        listener = Listener(receive, flight)

        async def watched_send(message):
            flight.sending(message)
            try:
                await send(message)
            except OSError:  # ASGI 2.4: the client has left
                flight.leave()
                raise
            flight.sent(message)
            listener.begin()

        # To receive is to tell a client that waits for it to go on: that is the application's.
        if b"expect" not in dict(scope["headers"]):
            listener.begin()
        try:
            await self.app(scope, listener.ask, watched_send)
        except asyncio.CancelledError:
            flight.leave()
            raise
        finally:
            listener.end()
            flight.over()

    # --- the runtime's life

    def open(self):
        if self.runtime is None:
            self.runtime = Runtime(CONFIG)
        if self.publisher is None or self.publisher.done():  # it ends with its loop
            self.publisher = asyncio.get_running_loop().create_task(self.publish())

    def close(self):
        if self.runtime is not None:
            self.publisher.cancel()
            self.runtime.close()
        self.runtime = self.publisher = None
        self.closed, self.told = True, False

    def is_open(self):
        if not self.closed:
            return self.could_open()
        if not self.told:
            self.told = True
            print("admitperf: the application has shut down: what comes now passes undecided",
                  file=sys.stderr)
        return False

    def could_open(self):
        """A request is not refused because we cannot be opened, nor does each try again."""
        if self.runtime is None and time.monotonic() < self.retry:
            return False
        try:
            self.open()
        except (RuntimeError, OSError) as error:  # OSError: no such library
            if str(error) != self.failed:
                print("admitperf: cannot be opened, requests pass undecided: %s" % error,
                      file=sys.stderr)
            self.failed, self.retry = str(error), time.monotonic() + RETRY_S
            return False
        self.failed = None
        return True

    def through_life(self, send):
        async def watched(message):
            if message["type"] == "lifespan.startup.complete":
                self.closed = False
                try:
                    self.open()
                # Said, not raised: servers take that for an application without a lifespan.
                except (RuntimeError, OSError) as error:
                    message = {"type": "lifespan.startup.failed",
                               "message": "admitperf: cannot be opened: %s" % error}
            if message["type"].startswith("lifespan.shutdown."):
                self.close()
            await send(message)
        return watched

    async def publish(self):
        """A page that cannot be had is none: readings age until they are absent."""
        while True:
            try:
                page = await self.page()
                if page:
                    self.runtime.publish(page)
            except Exception as error:  # the application's, whatever it may be
                print("admitperf: no metrics: %r" % error, file=sys.stderr)
            await asyncio.sleep(INTERVAL_S)

    async def page(self):
        """GET /metrics of the application behind us."""
        scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1",
                 "method": "GET", "scheme": "http", "path": "/metrics", "raw_path": b"/metrics",
                 "query_string": b"", "root_path": "", "headers": [(b"host", b"localhost")],
                 "client": ("127.0.0.1", 0), "server": ("127.0.0.1", 0)}
        said, ended = [], asyncio.Event()

        async def receive():
            if not said:
                said.append(b"")
                return {"type": "http.request", "body": b"", "more_body": False}
            await ended.wait()
            return {"type": "http.disconnect"}

        status = 0

        async def send(message):
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                said.append(message.get("body", b""))
                if not message.get("more_body", False):
                    ended.set()

        await self.app(scope, receive, send)
        return b"".join(said) if status == 200 else b""
