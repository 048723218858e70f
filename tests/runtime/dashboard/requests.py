# SPDX-License-Identifier: MIT
"""What a dashboard answers: claims as TAP. requests.py PORT REPORT.json EXPERIMENTS.json COMPARE.json"""
import http.client
import json
import os
import shutil
import sys

port = int(sys.argv[1])
report, experiments, comparison = (json.load(open(name)) for name in sys.argv[2:5])
failed = 0


def ask(path, method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{port}")
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


def data(path):
    status, _, body = ask(path)
    assert status == 200, (status, body[:200])
    return json.loads(body)


def claim(text, check):
    global failed
    try:
        check()
        print(f"ok - {text}")
    except Exception as error:  # whatever it is, the claim does not hold
        failed += 1
        print(f"not ok - {text}\n# {type(error).__name__}: {str(error)[:400]}")


def figures():
    assert data("/api/report?log=demo/kv_threshold/r1.jsonl") == report
    assert data("/api/report?log=demo%2Fkv_threshold%2Fr1.jsonl") == report, "from what was kept"
    assert data("/api/experiments") == experiments
    assert data("/api/compare?experiment=demo") == comparison
    assert len(data("/api/report")["runs"]) == 10
    two = data("/api/compare?baseline=demo/no_admission&policy=demo/kv_threshold")
    assert two["candidates"][0]["policy"] == "kv_threshold"
    assert data("/api/compare?arms=arms/r1.jsonl")["arms"] is True
    known = data("/api/signals")["signals"]
    pressure = next(s for s in known if s["name"] == "kv_pressure")
    assert pressure["low"] == 0 and pressure["high"] == 1 and pressure["aggregate"] == "max"
    assert "vllm:kv_cache_usage_perc" in pressure["sources"]
    assert any(t["term"] == "goodput" for t in data("/api/terms")["terms"])


def growing():
    shutil.copy("demo/kv_threshold/r1.jsonl", "growing.jsonl")
    before = data("/api/report?log=growing.jsonl")
    with open("growing.jsonl", "a") as log:
        line = next(line for line in open("growing.jsonl") if '"verdict"' in line)
        log.write(json.dumps({**json.loads(line), "request_id": "new"}) + "\n")
    after = data("/api/report?log=growing.jsonl")
    assert after["offered"] == before["offered"] + 1


def hosts():
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        assert ask("/", host=host)[0] == 200, host
    for host in ("evil.example", f"evil.example:{port}", "localhost", f"127.0.0.1.evil.example:{port}"):
        for path in ("/", "/api/experiments"):
            status, _, body = ask(path, host=host)
            assert status == 421 and b"experiments" not in body, (host, path, status)


def confined():
    for path in ("/etc/passwd", "../outside.jsonl", "demo/../../outside.jsonl", "link.jsonl", "linked", "-", "nowhere"):
        for query in (f"report?log={path}", f"compare?arms={path}", f"compare?baseline={path}&policy=demo"):
            status, _, body = ask("/api/" + query)
            assert status == 404 and b"offered" not in body, (query, status, body[:100])
    status, _, body = ask("/api/report?log=%00")
    assert status == 400, status
    assert ask("/api/report?log=%zz")[0] == 400
    assert ask("/api/report?" + "&".join(["log=demo"] * 257))[0] == 400


def only_reads():
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert ask("/api/experiments", method)[0] == 405, method
    status, headers, body = ask("/", "HEAD")
    assert status == 200 and not body and int(headers["Content-Length"]) > 100


def strict():
    for path in ("/", "/page.js", "/page.css", "/uplot.js", "/api/terms", "/nowhere"):
        status, headers, _ = ask(path)
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert status == (404 if path == "/nowhere" else 200), path


def words():
    for path, status, said in (
        ("/api/compare", 400, "what is compared?"),
        ("/api/compare?experiment=demmo", 404, "there are: "),
        ("/api/compare?experiment=e", 400, "baseline"),
        ("/api/nothing", 404, "nothing here by that name"),
    ):
        got, _, body = ask(path)
        assert got == status and said in json.loads(body)["error"], (path, got, body)


claim("its figures are those of --json, again when it kept them", figures)
# Searching the folder would have found these too.
os.symlink("../outside.jsonl", "link.jsonl")
os.symlink("..", "linked")
claim("a log that grows while it is open is read anew", growing)
claim("only a Host that is this machine is answered", hosts)
claim("paths lead below the folder, whatever they say and link to", confined)
claim("nothing can be changed", only_reads)
claim("every answer has the strict policy", strict)
claim("what is wrong is said in words", words)
sys.exit(failed > 0)
