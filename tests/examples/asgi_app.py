# SPDX-License-Identifier: MIT
"""A server as vLLM's is, for the test of the middleware: Starlette on uvicorn, streaming, its
middleware loaded by name. Behind it the tests' engine, chunk by chunk.

    asgi_app.py ENGINE_PORT [MODULE.CLASS]

Prints its port; SIGTERM shuts it down in order. GET /pages: how often its /metrics was asked.
GET /yielded/ID: the chunks that it gave out for that request, as JSON.
"""
import asyncio
import importlib
import inspect
import socket
import sys

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

engine_port = int(sys.argv[1])
yielded = {}
pages = 0


async def ask(method, path, headers=(), body=b""):
    """Status, and an iterator over the chunks of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", engine_port)
    head = ["%s %s HTTP/1.1" % (method, path), "Host: engine", "Connection: close",
            "Content-Length: %d" % len(body), *("%s: %s" % pair for pair in headers)]
    writer.write("\r\n".join(head + ["", ""]).encode() + body)
    answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()

    async def chunks():
        try:
            if "transfer-encoding: chunked" not in answer:
                yield await reader.read()
                return
            while size := int(await reader.readline(), 16):
                yield await reader.readexactly(size)
                await reader.readline()
        finally:
            writer.close()

    return int(answer.split()[1]), chunks()


async def chat(request):
    name = request.headers.get("x-request-id", "")
    status, chunks = await ask("POST", "/v1/chat/completions", [("X-Request-Id", name)],
                               await request.body())
    given = yielded[name] = []

    async def stream():
        try:
            async for chunk in chunks:
                given.append(chunk.decode())
                yield chunk
        finally:
            await chunks.aclose()

    return StreamingResponse(stream(), status_code=status, media_type="text/event-stream")


async def metrics(request):
    global pages
    _, chunks = await ask("GET", "/metrics")
    page = b"".join([chunk async for chunk in chunks])
    pages += 1
    return Response(page, media_type="text/plain")


async def pages_asked(request):
    return JSONResponse(pages)


async def what_was_yielded(request):
    return JSONResponse(yielded.get(request.path_params["id"]))


app = Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"]),
                        Route("/metrics", metrics), Route("/pages", pages_asked),
                        Route("/yielded/{id}", what_was_yielded)])
for name in sys.argv[2:]:  # as vllm/entrypoints/openai/api_server.py does
    module, attribute = name.rsplit(".", 1)
    imported = getattr(importlib.import_module(module), attribute)
    if inspect.isclass(imported):
        app.add_middleware(imported)
    else:
        app.middleware("http")(imported)

listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(64)
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on")).run(sockets=[listener])
