# SPDX-License-Identifier: MIT
"""A real Prometheus scrapes admitperf serve, behind a token: what it then knows is what the page says.

python3 prometheus.py PROGRAM FOLDER: prints one line for each claim. Ports are free ones, everything
started here ends with it. Prometheus asks for OpenMetrics; what it makes of the other format is
promtool's to say (serve.py).
"""
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.dont_write_bytecode = True  # beside the sources
from claims import claim, die_with_us, free_port, status, until  # noqa: E402

PROGRAM, FOLDER = sys.argv[1:]
OPENMETRICS = "application/openmetrics-text;version=1.0.0"
os.chdir(FOLDER)


def start(name, *argv):
    log = open(name + ".said", "ab")
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                            preexec_fn=die_with_us)


def said(name):
    with open(name + ".said", errors="replace") as f:
        return f.read()


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def ask(port, path, body=None, **headers):
    """Status and text; 0: nobody answers yet."""
    request = urllib.request.Request("http://127.0.0.1:%d%s" % (port, path), body, headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as r:
            return r.status, r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()
    except OSError as e:
        return 0, str(e)


SIDECAR, PROMETHEUS = free_port(), free_port()
write("token", "secret-token\n")
write("a.yaml", """version: 1
experiment: e
run: r1
policy: { use: queue_depth, params: { max_waiting: 4, retry_after_ms: 1500 } }
log: { path: log.jsonl }
serve: { listen: 127.0.0.1:%d, token_file: token }
""" % SIDECAR)
write("prometheus.yml", """scrape_configs:
  - job_name: admitperf
    scrape_interval: 1s
    scrape_timeout: 1s
    authorization: { credentials_file: token }
    static_configs: [ { targets: [ "127.0.0.1:%d" ] } ]
""" % SIDECAR)


def page():
    return ask(SIDECAR, "/metrics", Authorization="Bearer secret-token", Accept=OPENMETRICS)[1]


def samples():
    """Of the page, by series as it writes them."""
    return {series: float(value) for series, value in re.findall(r"^(\w+(?:\{.*\})?) (\S+)", page(), re.M)}


def query(promql):
    """The value of the one series that this is; None: there is none, or several."""
    status, text = ask(PROMETHEUS, "/api/v1/query?" + urllib.parse.urlencode({"query": promql}))
    found = json.loads(text)["data"]["result"] if status == 200 else []
    return float(found[0]["value"][1]) if len(found) == 1 else None


def main():
    sidecar = start("sidecar", PROGRAM, "serve", "-c", "a.yaml")
    if not until(20, lambda: ask(SIDECAR, "/readyz")[0] == 200):
        claim("the sidecar becomes ready", False, said("sidecar"))
        return
    prometheus = start("prometheus", "prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=tsdb",
                       "--web.listen-address=127.0.0.1:%d" % PROMETHEUS, "--log.level=warn")
    # Seven are admitted, five refused.
    for waiting in 7 * [1] + 5 * [9]:
        ask(SIDECAR, "/v1/decide", json.dumps({"metrics": {"vllm:num_requests_waiting": waiting}}).encode(),
            Authorization="Bearer secret-token")
    counters = [(series, value) for series, value in samples().items() if series.startswith("admitperf_decisions_total{")]
    claim("the page counts seven admitted and five refused", sorted(v for _, v in counters) == [5, 7], counters)
    claim("Prometheus can scrape it: up is 1", until(30, lambda: query('up{job="admitperf"}') == 1),
          (said("prometheus"), ask(PROMETHEUS, "/api/v1/targets")[1]))
    for series, value in counters:
        claim("by its API %s is what the page says" % series.replace('"', ""),
              until(10, lambda: query(series) == value), (query(series), value, said("prometheus")))
    claim("and so is the count of the histogram of deciding",
          until(10, lambda: query("admitperf_decide_seconds_count") == 12), query("admitperf_decide_seconds_count"))
    n = len(samples())
    claim("it takes every sample of the page", n > 50 and until(10, lambda: query("scrape_samples_scraped") == n),
          (n, query("scrape_samples_scraped")))
    claim("it has nothing to complain of", said("prometheus") == "", said("prometheus"))
    sidecar.send_signal(signal.SIGTERM)
    claim("the sidecar, told to stop while it is scraped, ends with 0", sidecar.wait(120) == 0, said("sidecar"))
    claim("and then up is 0", until(10, lambda: query('up{job="admitperf"}') == 0), query('up{job="admitperf"}'))
    prometheus.kill()
    prometheus.wait()


main()
raise SystemExit(status())
