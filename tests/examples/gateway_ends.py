# SPDX-License-Identifier: MIT
"""What examples/gateway makes of every end an answer can have, and of clients that leave. Prints a
claim a line.

    gateway_ends.py WORK_FOLDER PROGRAM
"""
import json
import os
import signal
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True  # beside the sources
from claims import claim, die_with_us, status, until  # noqa: E402

work, program = sys.argv[1:]
LOG = os.path.join(work, "ends.jsonl")
PATIENCE_S = 10
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"

# id, what the engine says before it closes, and of the outcome: end, status, with TTFT
ENDS = [
    ("length", OK + b"Content-Length: 2\r\n\r\nok", "done", 200, True),
    ("chunked", CHUNKED + b"2\r\nok\r\n0\r\n\r\n", "done", 200, True),
    ("trailer", CHUNKED + b"2;x=y\r\nok\r\n0\r\nA: b\r\n\r\n", "done", 200, True),
    ("until-it-closes", OK + b"\r\nok", "done", 200, True),
    ("no-body", b"HTTP/1.1 204 No Content\r\n\r\n", "done", 204, False),
    ("cut-chunk", CHUNKED + b"5\r\nok", "failed", 200, True),
    ("cut-between-chunks", CHUNKED + b"2\r\nok\r\n", "failed", 200, True),
    ("cut-length", OK + b"Content-Length: 9\r\n\r\nok", "failed", 200, True),
    ("cut-head", OK + b"Content-Le", "failed", 200, False),
    ("nothing", b"", "failed", None, False),
    ("error", b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno", "failed", 500, True),
    ("interim", INTERIM + OK + b"Content-Length: 2\r\n\r\nok", "done", 200, True),
    ("interim-error", INTERIM + b"HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n", "done", 400, False),
    ("no-status", b"<html>Bad request</html>\r\n\r\n", "failed", None, False),
]
ANSWERS = {name: answer for name, answer, *_ in ENDS}
ANSWERS["expects"] = OK + b"Content-Length: 2\r\n\r\nok"
heads, bodies = {}, {}


def converse(connection):
    """The engine's side of one connection: the head, the body as long as it says, the answer."""
    with connection, connection.makefile("rb") as file:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = file.readline()
            if not line:
                return
            head += line
        said = {k.lower(): v for k, v in (line.split(": ", 1) for line in
                                          head.decode().split("\r\n") if ": " in line)}
        name = said.get("x-request-id", "no-status")
        heads[name] = head
        bodies[name] = file.read(int(said.get("content-length", 0)))
        if name == "waits":
            file.read()  # until the gateway leaves
        elif head.startswith(b"GET"):
            connection.sendall(OK + b"Content-Length: 0\r\n\r\n")
        else:
            connection.sendall(ANSWERS.get(name, b""))


def serve(listener):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=converse, args=(connection,), daemon=True).start()


def connect(port):
    return socket.create_connection(("127.0.0.1", port), PATIENCE_S)


def head_of(name, more=""):
    return ("POST /v1/completions HTTP/1.1\r\nHost: test\r\nX-Request-Id: %s\r\n%s\r\n"
            % (name, more)).encode()


def all_of(connection):
    answer = b""
    while more := connection.recv(65536):
        answer += more
    return answer


def ask(port, request):
    with connect(port) as connection:
        connection.sendall(request)
        return all_of(connection)


def expecting(port):
    """What was said before the body was sent, and after."""
    with connect(port) as connection:
        connection.sendall(head_of("expects", "Expect: 100-continue\r\nContent-Length: 2\r\n"))
        connection.settimeout(PATIENCE_S)
        try:
            first = connection.recv(len(INTERIM))
        except socket.timeout:
            first = b""
        connection.settimeout(PATIENCE_S)
        connection.sendall(b"{}")
        return first, all_of(connection)


def main():
    engine = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(engine,), daemon=True).start()
    config = os.path.join(work, "ends.yaml")
    with open(config, "w", encoding="utf-8") as file:
        file.write("version: 1\nexperiment: ends\nlog: { path: \"%s\" }\n"
                   "policy: { use: queue_depth, params: { max_waiting: 8 } }\n" % LOG)
    gateway = subprocess.Popen([program, config, "0", str(engine.getsockname()[1])],
                               stdout=subprocess.PIPE, text=True, preexec_fn=die_with_us)
    port = int(gateway.stdout.readline())
    got = {name: ask(port, head_of(name)) for name, *_ in ENDS}
    garbage = ask(port, b"garbage\r\n\r\n")
    first, rest = expecting(port)
    with connect(port) as uploads:
        uploads.sendall(head_of("leaves-uploading", "Content-Length: 1000\r\n") + b"{")
        until(PATIENCE_S, lambda: "leaves-uploading" in heads)  # accepted, and forwarded
    with connect(port) as waits:
        waits.sendall(head_of("waits"))
        until(PATIENCE_S, lambda: "waits" in heads)
    gateway.send_signal(signal.SIGTERM)  # it ends what it has begun
    gateway.wait(PATIENCE_S)

    with open(LOG, encoding="ascii") as log:
        lines = [json.loads(line) for line in log]
    ends = {line.get("request_id"): line["outcome"] for line in lines if "outcome" in line}
    for name, answer, end, of_it, with_ttft in ENDS:
        outcome = ends.get(name, {})
        claim("%s: %s, status %s, %s TTFT" % (name, end, of_it, "with" if with_ttft else "without"),
              outcome.get("end") == end and outcome.get("status") == of_it and
              ("ttft_ms" in outcome) == with_ttft, outcome)
        claim("%s: the client has what the engine said, or 502" % name,
              got[name] == answer or (not answer and b" 502 " in got[name]), got[name])
    nameless = [line["outcome"] for line in lines
                if "outcome" in line and not line.get("request_id")]
    claim("a request that is none has no status in its outcome",
          len(nameless) == 1 and "status" not in nameless[0] and nameless[0]["end"] == "failed",
          (nameless, garbage))
    claim("a client that waits to be told is told to go on, and its body arrives",
          first == INTERIM and rest == ANSWERS["expects"] and bodies["expects"] == b"{}" and
          b"Expect" not in heads["expects"], (first, rest, heads.get("expects")))
    claim("which is not the status", ends["expects"].get("status") == 200, ends["expects"])
    for name in ("leaves-uploading", "waits"):
        claim("%s: cancelled, without status or TTFT" % name,
              ends.get(name, {}).get("end") == "cancelled" and
              not {"status", "ttft_ms"} & set(ends[name]), ends.get(name))
    return status()


sys.exit(main())
