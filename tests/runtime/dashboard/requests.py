# SPDX-License-Identifier: MIT
"""What a dashboard answers: claims as TAP. requests.py PORT REPORT.json EXPERIMENTS.json COMPARE.json
SIGNALS.json"""
import gzip
import http.client
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.dont_write_bytecode = True  # beside the sources
from claims import claim_that, status  # noqa: E402

port = int(sys.argv[1])
report, experiments, comparison, supplied = (json.load(open(name)) for name in sys.argv[2:6])


def ask(path, method="GET", host=None, accepts=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    connection.putheader("Host", host or f"127.0.0.1:{port}")
    if accepts:
        connection.putheader("Accept-Encoding", accepts)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


def data(path):
    status, _, body = ask(path)
    assert status == 200, (status, body[:200])
    return json.loads(body)


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


def packed():
    total = 0
    for path in ("/", "/page.js", "/page.css", "/uplot.js"):
        _, plain_headers, plain = ask(path)
        status, headers, body = ask(path, accepts="gzip, deflate, br")
        assert status == 200 and headers["Content-Encoding"] == "gzip" and headers["Vary"] == "Accept-Encoding"
        assert plain_headers["Content-Encoding"] is None and plain_headers["Vary"] == "Accept-Encoding"
        assert gzip.decompress(body) == plain and int(headers["Content-Length"]) == len(body), path
        assert headers["Content-Type"] == plain_headers["Content-Type"]
        assert ask(path, accepts="gzip;q=0")[2] == plain
        total += len(body)
    assert total < 60 * 1024, total


def lines():
    log = open("demo/kv_threshold/r1.jsonl").read().splitlines()
    said = [json.loads(line) for line in log]
    path = "/api/lines?log=demo/kv_threshold/r1.jsonl"
    part = data(path + "&at=0.4&most=5")["logs"][0]
    here = next(i for i, line in enumerate(said, 1) if line["at"] == 0.4)
    assert part["here"] == here and [l["line"] for l in part["lines"]] == list(range(here - 2, here + 3)), part
    assert all(l["text"] == log[l["line"] - 1] and not l["cut"] for l in part["lines"])
    refused = [i for i, line in enumerate(said, 1) if line.get("verdict") == "reject" and line["enforced"]]
    part = data(path + "&of=refused&policy=kv_threshold&run=r1&reason=kv_pressure&most=200")["logs"][0]
    assert part["n"] == len(refused) == report["refused"], part["n"]
    assert [l["line"] for l in part["lines"]] == refused[:200] and part["next"] == refused[200]
    rest = data(path + f"&of=refused&line={part['next']}&most=200")["logs"][0]
    assert [l["line"] for l in rest["lines"]] == refused[200:] and rest["next"] is None
    assert data(path + "&of=refused&policy=other")["logs"][0]["n"] == 0
    assert len(data(path + "&line=3&log=arms/r1.jsonl")["logs"]) == 2
    for query, status in (("", 400), ("&at=x", 400), ("&at=nan", 400), ("&of=nothing", 400), ("&line=0", 400), ("&line=1.5", 400),
                          ("&line=1&most=201", 400), ("&line=1&most=0", 400), ("&line=1" + "&log=arms/r1.jsonl" * 16, 400)):
        assert ask(path + query)[0] == status, query
    assert ask("/api/lines?line=1")[0] == 400
    for outside in ("../outside.jsonl", "link.jsonl", "linked/outside.jsonl", "demo", "nowhere", "pipe"):
        assert ask(f"/api/lines?line=1&log={outside}")[0] == 404, outside


def supply():
    assert data("/api/supply?page=page.txt") == supplied
    assert supplied["signals"]["kv_pressure"]["skipped"] == 1
    assert "looks like JSON, expected a metrics page" in json.loads(ask("/api/supply?page=demo/kv_threshold/r1.jsonl")[2])["error"]
    assert ask("/api/supply?page=demo/kv_threshold/r1.jsonl")[0] == 400
    assert ask("/api/supply")[0] == 400
    for outside in ("../report.json", "/etc/passwd", "demo", "nowhere", "pipe"):
        assert ask(f"/api/supply?page={outside}")[0] == 404, outside


claim_that("its figures are those of --json, again when it kept them", figures)
# Searching the folder would have found these too.
os.symlink("../outside.jsonl", "link.jsonl")
os.symlink("..", "linked")
def nobody():
    assert data("/api/targets") == {"targets": []}
    assert ask("/api/live?target=0")[0] == 404


os.mkfifo("pipe")
claim_that("the page comes packed to who takes it so, in less than 60 KB", packed)
claim_that("lines are those of the file, around a moment or of a kind, and no others", lines)
claim_that("what a file supplies is what `signals --json` says", supply)
claim_that("without --live nobody is followed, or asked", nobody)
claim_that("a log that grows while it is open is read anew", growing)
claim_that("only a Host that is this machine is answered", hosts)
claim_that("paths lead below the folder, whatever they say and link to", confined)
claim_that("nothing can be changed", only_reads)
claim_that("every answer has the strict policy", strict)
claim_that("what is wrong is said in words", words)
sys.exit(status())
