# SPDX-License-Identifier: MIT
"""A server of metrics pages, good ones and every kind of bad one, for the tests.

    pages.py CERT KEY SOCKET      prints "PORT TLS-PORT" once it listens

Each path is one behaviour: see PATHS. /quit ends it; so does the end of who started it.
/load?queue=N&kv=X sets what /metrics shows from then on; /count says how often that was asked.
"""
import os
import socket
import ssl
import sys
import threading
import time

TOKEN = "token-of-the-tests"
state = {"kv": "0.25", "queue": "3", "asked": 0}
lock = threading.Lock()


def page():
    labels = '{engine="0",model_name="tiny"}'
    return (
        "# TYPE vllm:kv_cache_usage_perc gauge\n"
        f"vllm:kv_cache_usage_perc{labels} {state['kv']}\n"
        f"vllm:num_requests_waiting{labels} {state['queue']}\n"
        f"vllm:num_requests_running{labels} 2\n"
        f"vllm:generation_tokens_total{labels} {1000 + 10 * state['asked']}\n"
        "acme_temperature 41.5\n"
    ).encode()


def answer(body, status="200 OK", kind="text/plain; version=0.0.4", length=None, more=""):
    length = len(body) if length is None else length
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{more}\r\n"
    return head.encode() + body


def metrics(c, query, head):
    with lock:
        state["asked"] += 1
        body = page()
    c.sendall(answer(body))
    return True


def load(c, query, head):
    with lock:
        state.update(pair.split("=") for pair in query.split("&"))
    c.sendall(answer(b"ok\n"))


def count(c, query, head):
    c.sendall(answer(f"{state['asked']}\n".encode()))


def token(c, query, head):
    if f"Authorization: Bearer {TOKEN}\r\n" in head:
        metrics(c, query, head)
    else:
        c.sendall(answer(b"who are you\n", "401 Unauthorized"))


def stall(c, query, head):
    time.sleep(30)


def drip(c, query, head):
    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    for _ in range(600):
        c.sendall(b"a 1\n")
        time.sleep(0.05)


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"


def big(c, query, head):
    c.sendall(CHUNKED)
    line = b"".join(b'x{i="%d"} 1\n' % i for i in range(4000))
    for _ in range(20_000_000 // len(line) + 1):
        c.sendall(chunk(line))
    c.sendall(b"0\r\n\r\n")


def endless(c, query, head):
    c.sendall(CHUNKED + chunk(b'a{b="'))
    for _ in range(100_000):
        c.sendall(chunk(b"x" * 65536))


def endless_head(c, query, head):
    c.sendall(b"HTTP/1.1 200 OK\r\n")
    for i in range(100_000):
        c.sendall(b"X-%d: %s\r\n" % (i, b"y" * 1000))


# 60 KB of series, as a page of many histograms has them.
WIDE = b"".join(b'acme_seconds_bucket{route="/v1/of/some/length",code="200",le="%04d"} 1\n' % i for i in range(860))


def says(data):
    def behaviour(c, query, head):
        c.sendall(data() if callable(data) else data)

    return behaviour


def to(place, status="302 Found"):
    return says(answer(b"", status, more=f"Location: {place}\r\n"))


def leave(c, query, head):
    c.sendall(answer(b"bye\n"))
    os._exit(0)


PATHS = {
    "/metrics": metrics,
    "/load": load,
    "/count": count,
    "/token": token,
    "/quit": leave,
    "/stall": stall,
    "/drip": drip,
    "/big": big,
    "/big-announced": says(answer(b"a 1\n", length=20_000_000)),
    "/endless": endless,
    "/endless-head": endless_head,
    "/json": says(answer(b'{"status":"ok"}', kind="application/json")),
    "/json-list": says(answer(b"[]", kind="application/json")),
    "/html": says(answer(b"<!doctype html><html>log in</html>", kind="text/html")),
    "/empty": says(answer(b"")),
    "/comments": says(answer(b"# TYPE vllm:num_requests_waiting gauge\n")),
    "/wide": says(lambda: answer(page() + WIDE)),
    "/binary": says(answer(bytes(range(256)) * 40, kind="application/octet-stream")),
    "/gzip": says(answer(b"\x1f\x8b\x08\x00" + b"\x55" * 200)),
    "/odd": says(answer(b"vllm:num_requests_waiting 3\nodd none\nodd 1\nodd 1\n")),
    "/words": says(answer(b"this is not what you want\nat all\n")),
    "/401": says(answer(b"", "401 Unauthorized")),
    "/403": says(answer(b"", "403 Forbidden")),
    "/404": says(answer(b"", "404 Not Found")),
    "/501": says(answer(b"", "501 Not Implemented")),
    "/503": says(answer(b"", "503 Service Unavailable")),
    "/204": says(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "/redirect": to("/metrics", "307 Temporary Redirect"),
    "/redirect-twice": to("/redirect"),
    "/redirect-away": to("http://127.0.0.2:9/metrics?key=secret"),
    "/redirect-scheme": to("file:///etc/passwd"),
    "/redirect-token": to("/token"),
    "/short": says(lambda: answer(page(), length=len(page()) + 1)),
    "/long": says(lambda: answer(page(), length=len(page()) - 3)),
    "/long-line": says(lambda: answer(WIDE * 8 + page(), length=len(WIDE) * 8)),
    "/long-line-close": says(
        lambda: answer(WIDE * 8 + page(), length=len(WIDE) * 8, more="Connection: close\r\n")
    ),
    "/chunk-more": says(lambda: CHUNKED + chunk(WIDE) * 8 + b"0\r\n\r\n" + page()),
    "/chunk-in-number": says(lambda: CHUNKED + chunk(page()[:-3]) + b"0\r\n\r\n"),
    "/one-cut": says(answer(b"vllm:num_requests_waiting 12")),
    "/no-newline": says(lambda: answer(page()[:-1])),
    "/chunked": says(lambda: CHUNKED + chunk(page()) + b"0\r\n\r\n"),
    "/chunk-cut": says(lambda: CHUNKED + chunk(page())),
    "/chunk-cut-within": says(lambda: CHUNKED + chunk(page())[:-40]),
    "/chunk-bad": says(CHUNKED + b"zz\r\na 1\n\r\n0\r\n\r\n"),
    "/close": says(lambda: b"HTTP/1.0 200 OK\r\n\r\n" + page()),
    "/close-cut": says(lambda: b"HTTP/1.0 200 OK\r\n\r\n" + page()[:-5]),
    "/nothing": says(b""),
    "/not-http": says(b"SSH-2.0-OpenSSH_9.2p1\r\n"),
    # Five days after the epoch, in one format; five years, in the other.
    "/stamped": says(answer(b"a 1 432000\n# EOF\n")),
    "/stamped-openmetrics": says(
        answer(b"a 1 432000\n# EOF\n", kind="Application/OpenMetrics-Text;version=1.0.0")
    ),
    "/stamped-unsaid": says(answer(b"a 1 432000\n# EOF\n", kind="text/html")),
    "/openmetrics": says(
        answer(b"a 1\n# EOF\n", kind="application/openmetrics-text; version=1.0.0")
    ),
    "/openmetrics-cut": says(
        answer(b"a 1\n", kind="application/openmetrics-text; version=1.0.0")
    ),
}


def serve(c):
    data = b""
    try:
        while True:
            while b"\r\n\r\n" not in data:
                more = c.recv(65536)
                if not more:
                    return
                data += more
            head, _, data = data.partition(b"\r\n\r\n")
            head = head.decode("latin-1") + "\r\n"
            path, _, query = head.split(" ")[1].partition("?")
            if not PATHS.get(path, PATHS["/404"])(c, query, head):
                return
    except OSError:
        pass
    finally:
        c.close()


def listen(family, address, context=None):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.bind(address)
    s.listen(64)

    def loop():
        while True:
            c, _ = s.accept()
            threading.Thread(target=meet, args=(c,), daemon=True).start()

    def meet(c):
        try:
            serve(context.wrap_socket(c, server_side=True) if context else c)
        except OSError:  # of the handshake
            c.close()

    threading.Thread(target=loop, daemon=True).start()
    return s.getsockname()


def main():
    cert, key, path = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    parent = os.getppid()
    port = listen(socket.AF_INET, ("127.0.0.1", 0))[1]
    tls = listen(socket.AF_INET, ("127.0.0.1", 0), context)[1]
    listen(socket.AF_UNIX, path)
    print(port, tls, flush=True)
    while os.getppid() == parent:
        time.sleep(0.5)


main()
