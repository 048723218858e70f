# SPDX-License-Identifier: MIT
"""Clients of a streaming engine, many at a time, and what each of them saw.

They share one thread: what is measured is when bytes were there, not when one of two dozen threads
was let run. How late that one thread came at worst is measured too (`late_ms`), since on a busy
machine nobody can say more exactly when a byte came.
"""
import asyncio
import json
import time


class Seen:
    """One answer. Times are those of time.monotonic(), which the tests' engine tells too."""

    def __init__(self):
        self.status, self.headers, self.begin, self.end = 0, {}, 0.0, 0.0
        self.came, self.left = [], []  # of each event: when it was here, when the engine wrote it
        self.id, self.whole, self.wrong = None, False, ""

    def ttft_ms(self):
        return (self.came[0] - self.begin) * 1e3

    def total_ms(self):
        return (self.end - self.begin) * 1e3

    def behind(self, late_s):
        """Of each event, how many later ones the engine had written when it came, or so long before:
        so late may the gateway or we have been let run."""
        return [sum(left < came - late_s for left in self.left[i + 1:])
                for i, came in enumerate(self.came[:len(self.left)])]


class Crowd:
    def __init__(self, seen, late_ms):
        self.seen, self.late_ms = seen, late_ms
        self.refused = [s for s in seen if s.status == 503]
        self.streamed = [s for s in seen if s.status == 200 and s.whole]

    def behind(self):
        """How far events came behind the engine, in events: of twenty, nineteen no further."""
        each = sorted(n for s in self.streamed for n in s.behind(self.late_ms / 1e3))
        return each[int(0.95 * len(each))] if each else None

    def __str__(self):
        return "late by %.1f ms: %s" % (self.late_ms, [(s.status, len(s.came), s.whole, s.wrong) for s in self.seen])


async def body_lines(reader, headers):
    """The lines of a chunked body, or of one of known length."""
    if "content-length" in headers:
        yield await reader.readexactly(int(headers["content-length"]))
        return
    text = b""
    while size := int(await reader.readline(), 16):
        text += await reader.readexactly(size)
        await reader.readline()
        while b"\n" in text:
            line, text = text.split(b"\n", 1)
            yield line
    await reader.readline()


async def client(port, body):
    seen = Seen()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        seen.begin = time.monotonic()
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                     b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        seen.status = int(head[0].split()[1])
        seen.headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in head[1:] if line)}
        async for line in body_lines(reader, seen.headers):
            if not line.startswith(b"data: "):
                continue
            seen.came.append(time.monotonic())
            if line == b"data: [DONE]":
                seen.whole = True
                continue
            event = json.loads(line[6:])
            seen.id = event["id"].removeprefix("chatcmpl-")
            if "at_ms" in event:
                seen.left.append(event["at_ms"] / 1e3)
        seen.end = time.monotonic()
        writer.close()
    except (OSError, ValueError, asyncio.IncompleteReadError) as e:
        seen.wrong = repr(e)
    return seen


async def how_late(worst):
    while True:
        due = time.monotonic() + 0.005
        await asyncio.sleep(0.005)
        worst[0] = max(worst[0], (time.monotonic() - due) * 1e3)


async def come(port, bodies, apart_s):
    worst, running = [0.0], []
    watch = asyncio.create_task(how_late(worst))
    for body in bodies:
        running.append(asyncio.create_task(client(port, json.dumps(body).encode())))
        await asyncio.sleep(apart_s)
    seen = await asyncio.gather(*running)
    watch.cancel()
    return Crowd(seen, worst[0])


def crowd(port, bodies, apart_s):
    """One client for each body, coming so far apart; ends when all have their answer."""
    return asyncio.run(come(port, bodies, apart_s))
