# SPDX-License-Identifier: MIT
"""Clients of an engine: each asks for one completion after the other.

    clients.py PORT CLIENTS SECONDS
"""
import http.client
import json
import sys
import threading
import time

port, clients, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
end = time.monotonic() + seconds
body = json.dumps(
    {"messages": [{"role": "user", "content": "words " * 60}], "max_tokens": 48, "stream": True}
)


def client():
    while time.monotonic() < end:
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        c.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        c.getresponse().read()
        c.close()


threads = [threading.Thread(target=client) for _ in range(clients)]
for t in threads:
    t.start()
for t in threads:
    t.join()
