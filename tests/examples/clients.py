# SPDX-License-Identifier: MIT
"""Clients of examples/asgi and examples/gateway before the tests' engine: prints a claim a line.

    clients.py asgi TOP_OF_SOURCES ENGINE_FOLDER WORK_FOLDER
    clients.py gateway TOP_OF_SOURCES ENGINE_FOLDER WORK_FOLDER PROGRAM

Exit status 77: the engine cannot be had; the reason is the last line on standard error.
"""
import asyncio
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True  # beside the sources
from claims import claim, die_with_us, status  # noqa: E402

subject, top, engine_folder, work = sys.argv[1:5]
LONG, SHORT = 1500, 12  # tokens
PATIENCE_S = 120


# --- servers


class Server:
    """A child that prints its port."""

    def __init__(self, command, **environment):
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                      env={**os.environ, **environment}, preexec_fn=die_with_us)
        line = self.child.stdout.readline()
        if not line:
            sys.exit(self.child.wait())
        self.port = int(line)

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(PATIENCE_S)


def configured(name, policy):
    """The path of a configuration of that name."""
    path = os.path.join(work, name + ".yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("version: 1\nexperiment: %s\npolicy: %s\nlog: { path: \"%s\" }\n"
                   % (name, policy, log_of(name)))
    return path


def application(engine, name, policy):
    """The server with the middleware, on a configuration of its own; or without."""
    if subject == "gateway":
        return Server([sys.argv[5], configured(name, policy), "0", str(engine.port)])
    command = [sys.executable, os.path.join(top, "tests/examples/asgi_app.py"), str(engine.port)]
    if not policy:
        return Server(command)
    config = configured(name, policy)
    return Server(command + ["admitperf_asgi.AdmitPerf"], ADMITPERF_CONFIG=config,
                  ADMITPERF_INTERVAL_S="0.05", PYTHONPATH=os.path.join(top, "examples/asgi"))


def log_of(name):
    return os.path.join(work, name + ".jsonl")


def lines_of(name):
    with open(log_of(name), encoding="ascii") as file:
        return [json.loads(line) for line in file]


# --- clients


class Answer:
    def __init__(self):
        self.status, self.headers, self.chunks = 0, {}, []
        self.head_s = self.first_s = None
        self.whole = False


class Client:
    """One request over a connection of its own."""

    def __init__(self, port, name, tokens):
        self.port, self.name, self.tokens = port, name, tokens
        self.answer = Answer()
        self.begun = asyncio.Event()  # the first chunk has come
        self.writer = None

    async def run(self):
        body = json.dumps({"messages": [{"role": "user", "content": "hello " + self.name}],
                           "max_tokens": self.tokens, "temperature": 0, "seed": 7,
                           "stream": True}).encode()
        reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writer.write(("POST /v1/chat/completions HTTP/1.1\r\nHost: test\r\n"
                           "Content-Type: application/json\r\nContent-Length: %d\r\n"
                           "X-Request-Id: %s\r\nConnection: close\r\n\r\n"
                           % (len(body), self.name)).encode() + body)
        start, answer = time.monotonic(), self.answer
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            answer.head_s = time.monotonic() - start
            answer.status = int(head[0].split()[1])
            answer.headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            if "content-length" in answer.headers:
                answer.chunks.append(await reader.readexactly(int(answer.headers["content-length"])))
                answer.whole = True
                return
            while size := int(await reader.readline(), 16):
                answer.chunks.append(await reader.readexactly(size))
                await reader.readline()
                if answer.first_s is None:
                    answer.first_s = time.monotonic() - start
                    self.begun.set()
            answer.whole = True
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            pass  # not whole
        finally:
            self.writer.close()

    def leave(self):
        self.writer.transport.abort()


async def get(port, path):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(("GET %s HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n" % path).encode())
    answer = await reader.read()
    writer.close()
    head, body = answer.split(b"\r\n\r\n", 1)
    if b"chunked" in head.lower():
        body = body.split(b"\r\n", 1)[1].rsplit(b"\r\n0\r\n", 1)[0]
    return body.decode()


async def until(what, holds):
    """Looks again until it holds; the test fails if it never does."""
    end = time.monotonic() + PATIENCE_S
    while not await holds():
        if time.monotonic() > end:
            raise RuntimeError("never: " + what)
        await asyncio.sleep(0.02)


# --- what is claimed


async def stays_as_it_is(engine, bare, guarded):
    """The same request, with and without: alone in the engine, whose answer then follows from it."""
    answers = []
    for port in (bare.port, guarded.port):
        client = Client(port, "same", SHORT)
        await client.run()
        answers.append(client.answer)
    without, with_it = answers
    claim("an admitted stream is the same with and without it, chunk for chunk",
          without.whole and len(without.chunks) > SHORT / 2 and without.chunks == with_it.chunks,
          (without.chunks, with_it.chunks))
    for answer in answers:
        answer.headers.pop("date")
    claim("so is its head", without.status == 200 and without.headers == with_it.headers,
          (without.headers, with_it.headers))


async def waiting(engine):
    page = await get(engine.port, "/metrics")
    return float(next(line for line in page.splitlines()
                      if line.startswith("vllm:num_requests_waiting")).split()[-1])


async def sixteen_on_four_slots(engine, server):
    """Eight fill the slots and the queue; when the middleware must have seen that, eight more."""
    first = [Client(server.port, "first-%d" % i, LONG) for i in range(8)]
    running = [asyncio.create_task(client.run()) for client in first]

    async def four_wait():
        return await waiting(engine) >= 4
    await until("four of eight wait", four_wait)
    seen = int(await get(server.port, "/pages"))

    async def published():
        return int(await get(server.port, "/pages")) >= seen + 2
    await until("the middleware has asked for metrics since", published)
    late = [Client(server.port, "late-%d" % i, SHORT) for i in range(8)]
    await asyncio.gather(*(client.run() for client in late))
    refused = [client.answer for client in late]
    claim("while more wait than the policy allows, requests get 503",
          all(answer.status == 503 for answer in refused), [a.status for a in refused])
    claim("each with Retry-After and the reason",
          all(answer.headers.get("retry-after") == "2" and
              answer.headers.get("x-admit-reason") == "queue_depth" and
              json.loads(answer.chunks[0])["error"]["code"] == "queue_depth"
              for answer in refused), [(a.headers, a.chunks) for a in refused])

    streaming = [client for client in first if client.begun.is_set()][:2]
    queued = [client for client in first if not client.begun.is_set()][:1]
    left = streaming + queued
    claim("some stream and some wait while others are refused", len(left) == 3, left)
    for client in left:
        client.leave()
    await asyncio.gather(*running)
    stayed = [client for client in first if client not in left]
    claim("the others are served to their end",
          all(c.answer.whole and c.answer.chunks[-1].endswith(b"data: [DONE]\n\n")
              for c in stayed), [(c.name, c.answer.status, c.answer.whole) for c in stayed])
    given = {c.name: json.loads(await get(server.port, "/yielded/" + c.name)) for c in stayed}
    claim("chunk for chunk as the server gave them out",
          all([chunk.decode() for chunk in c.answer.chunks] == given[c.name] for c in stayed),
          "of " + ", ".join(given))
    return first, late, left, queued


def outcomes_are_recorded(first, late, left, queued):
    decided = {line["request_id"]: line for line in lines_of("queue") if "verdict" in line}
    ended = outcomes_of("queue")
    names = {client.name for client in first}
    claim("each request has its decision", len(decided) == 17 and
          all(decided[c.name]["verdict"] == "admit" for c in first) and
          all(decided[c.name]["verdict"] == "defer" for c in late), sorted(decided))
    claim("each admitted one has one outcome, and no other has any",
          set(ended) == names | {"same"} and all(len(of) == 1 for of in ended.values()), ended)
    gone = {name for name, of in ended.items() if of[0].get("end") == "cancelled"}
    claim("those that left are cancelled, the others are done",
          gone == {client.name for client in left} and
          all(ended[name][0].get("end") == "done" for name in set(ended) - gone), ended)
    claim("one that left before its first byte has no TTFT",
          all("ttft_ms" not in ended[client.name][0] for client in queued), ended)
    late_first = max((c for c in first if c not in left), key=lambda c: c.answer.first_s)
    ttft = ended[late_first.name][0].get("ttft_ms", 0) / 1e3
    claim("TTFT is when the body began, not when the head was sent",
          late_first.answer.head_s < ttft <= late_first.answer.first_s,
          (late_first.answer.head_s, ttft, late_first.answer.first_s))


def outcomes_of(name):
    """Request id: its outcomes, in a log."""
    ended = {}
    for line in lines_of(name):
        if "outcome" in line:
            ended.setdefault(line["request_id"], []).append(line["outcome"])
    return ended


async def quota(engine):
    """A bucket of five requests' tokens: the sixth on is told when to come again."""
    server = application(engine, "quota", "{ use: token_bucket, params: { capacity: 4000, "
                         "refill: 100, prompt_guess: 512, output_guess: 256 } }")
    clients = [Client(server.port, "quota-%d" % i, SHORT) for i in range(16)]
    await asyncio.gather(*(client.run() for client in clients))
    refused = [c.answer for c in clients if c.answer.status != 200]
    claim("what a bucket does not hold is refused with 429 and Retry-After",
          0 < len(refused) < 16 and
          all(a.status == 429 and int(a.headers["retry-after"]) >= 1 and
              json.loads(a.chunks[0])["error"]["type"] == "rate_limit_error" for a in refused),
          [(a.status, a.headers) for a in refused])
    server.stop()
    ended = outcomes_of("quota")
    claim("and has no outcome, while each of the others has one",
          all(len(of) == 1 and of[0]["end"] == "done" for of in ended.values()) and
          set(ended) == {c.name for c in clients if c.answer.status == 200}, ended)


async def of_the_gateway(engine):
    server = application(engine, "queue", "{ use: queue_depth, params: { max_waiting: 100 } }")
    await stays_as_it_is(engine, engine, server)
    left = Client(server.port, "left", LONG)
    running = asyncio.create_task(left.run())
    await left.begun.wait()
    left.leave()
    await running

    async def nothing_runs():
        page = await get(engine.port, "/metrics")
        return "vllm:num_requests_running{engine=\"0\",model_name=\"tiny-random\"} 0" in page
    await until("the engine gives up what a client has left", nothing_runs)
    server.stop()
    ended = outcomes_of("queue")
    claim("what a client leaves is cancelled, in the engine too",
          ended["left"][0]["end"] == "cancelled" and ended["left"][0]["ttft_ms"] > 0, ended)
    claim("what is served is done, with its status and TTFT",
          ended["same"][0]["end"] == "done" and ended["same"][0]["status"] == 200 and
          0 < ended["same"][0]["ttft_ms"] <= ended["same"][0]["total_ms"], ended)
    await quota(engine)


async def of_the_middleware(engine):
    bare = application(engine, "bare", None)
    guarded = application(engine, "queue",
                          "{ use: queue_depth, params: { max_waiting: 3, retry_after_ms: 2000 } }")
    await stays_as_it_is(engine, bare, guarded)
    bare.stop()
    told = await sixteen_on_four_slots(engine, guarded)
    guarded.stop()
    outcomes_are_recorded(*told)
    await quota(engine)


async def main():
    engine = Server([os.path.join(top, "tests/engine/start"), engine_folder, "4", "8192"])
    await (of_the_gateway if subject == "gateway" else of_the_middleware)(engine)
    engine.child.kill()


asyncio.run(main())
sys.exit(status())
