# SPDX-License-Identifier: MIT
"""A Prometheus with infra/prometheus scrapes a sidecar that answers requests: the alerts' names are on the
sidecar's page, and each query of infra/grafana/dashboard.json gives something.

python3 prometheus.py PROGRAM SOURCE FOLDER: prints one line for each claim. Ports are free ones; everything
started here ends with it.
"""
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True  # beside the sources
from claims import Page, Pages, claim, die_with_us, free_port, status, until  # noqa: E402

PROGRAM, SOURCE, FOLDER = sys.argv[1:]
os.chdir(FOLDER)
SIDECAR, PROMETHEUS = free_port(), free_port()
# What has no series while all is well: they come with the first one that is counted.
NONE_YET = {"admitperf_policy_faults_total", "admitperf_policy_deaths_total", "admitperf_policy_quarantined"}


class Engine(Page):
    """Of its pages the first does not come, so that there are failures to count."""
    asked = 0

    def do_GET(self):
        Engine.asked += 1
        if Engine.asked == 1:
            self.answer(b"", status=500)
            return
        self.answer(b'vllm:num_requests_waiting{engine="0"} 9\nvllm:num_requests_running{engine="0"} 3\n'
                    b'vllm:kv_cache_usage_perc{engine="0"} 0.5\n'
                    b'vllm:prompt_tokens_total{engine="0"} %d\n' % (100 * Engine.asked),
                    kind="text/plain; version=0.0.4")


def start(name, *argv):
    log = open(name + ".said", "ab")
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_us)


def said(name):
    with open(name + ".said", errors="replace") as f:
        return f.read()


def read(*path):
    with open(os.path.join(SOURCE, "infra", *path)) as f:
        return f.read()


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def ask(port, path, body=None):
    """Status and text; 0: nobody answers yet."""
    try:
        with urllib.request.urlopen("http://127.0.0.1:%d%s" % (port, path), body, timeout=10) as r:
            return r.status, r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()
    except OSError as e:
        return 0, str(e)


def decide(n, **metrics):
    """Asked n times, with metrics or by the engine's page; each has its outcome."""
    for _ in range(n):
        body = {"metrics": metrics} if metrics else {}
        answer = json.loads(ask(SIDECAR, "/v1/decide", json.dumps(body).encode())[1])
        if answer["admitted"]:
            ask(SIDECAR, "/v1/outcome", json.dumps({"id": answer["id"], "status": 200, "total_ms": 9}).encode())


def query(promql):
    """Its series, by Prometheus' API; a text: what is wrong with it."""
    code, text = ask(PROMETHEUS, "/api/v1/query?" + urllib.parse.urlencode({"query": promql}))
    return json.loads(text)["data"]["result"] if code == 200 else text


def rules_health():
    groups = json.loads(ask(PROMETHEUS, "/api/v1/rules")[1])["data"]["groups"]
    return [rule["health"] for group in groups for rule in group["rules"]]


def all_evaluated():
    health = rules_health()
    return "unknown" not in health and health


def names_in(promql):
    return set(re.findall(r"\badmitperf_\w+", promql))


def queries(dashboard):
    """(where, query) of each panel, of the annotations and of the variables, with Grafana's words put in."""
    found = [(p["title"], t["expr"]) for p in dashboard["panels"] for t in p.get("targets", [])]
    found += [("annotation " + a["name"], a["expr"]) for a in dashboard["annotations"]["list"]]
    found += [("variable " + v["name"], re.fullmatch(r"label_values\((.*), \w+\)", v["query"])[1])
              for v in dashboard["templating"]["list"] if v["type"] == "query"]
    return [(where, q.replace("$instance", ".*").replace("$__rate_interval", "1m")) for where, q in found]


def placed(text, *changes):
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def main():
    engine = Pages(("127.0.0.1", 0), Engine)
    threading.Thread(target=engine.serve_forever, daemon=True).start()
    write("a.yaml", """version: 1
experiment: e
run: r1
policy: { use: queue_depth, params: { max_waiting: 4, retry_after_ms: 1500 } }
shadow: [ { use: kv_threshold, params: { threshold: 0.9 } } ]
scrape: [ { name: vllm, url: "http://127.0.0.1:%d/metrics", interval: 100ms } ]
log: { path: log.jsonl }
serve: { listen: 127.0.0.1:%d }
""" % (engine.server_address[1], SIDECAR))
    write("admitperf.rules.yml", read("prometheus", "admitperf.rules.yml"))
    write("prometheus.yml", placed(read("prometheus", "prometheus.yml"), ("127.0.0.1:9400", "127.0.0.1:%d" % SIDECAR),
                                   ("scrape_interval: 5s", "scrape_interval: 1s"),
                                   ("scrape_timeout: 5s", "scrape_timeout: 1s"),
                                   ("evaluation_interval: 15s", "evaluation_interval: 1s")))
    sidecar = start("sidecar", PROGRAM, "serve", "-c", "a.yaml")
    if not until(20, lambda: ask(SIDECAR, "/readyz")[0] == 200):
        claim("the sidecar becomes ready", False, said("sidecar"))
        return
    decide(3, **{"vllm:num_requests_waiting": 1})
    decide(2)
    page = ask(SIDECAR, "/metrics")[1]
    told = set(re.findall(r"^# TYPE (\w+) ", page, re.M))

    def untold(text):
        return {name for name in names_in(text) if name not in told and re.sub("_(bucket|sum|count)$", "", name) not in told}

    rules = read("prometheus", "admitperf.rules.yml")
    claim("the rules name metrics", len(names_in(rules)) >= 10, names_in(rules))
    claim("every metric that the rules name is on a sidecar's page", not untold(rules), untold(rules))

    prometheus = start("prometheus", "prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=tsdb",
                       "--web.listen-address=127.0.0.1:%d" % PROMETHEUS, "--log.level=warn")
    up = until(30, lambda: len(query("count_over_time(up[1h]) >= 3 and on (instance) admitperf_build_info")) == 1)
    claim("a Prometheus with the configuration scrapes it, again and again", up, (said("prometheus"), query("up")))
    dashboard = json.loads(read("grafana", "dashboard.json"))
    asked = queries(dashboard)
    claim("the dashboard asks", len(asked) >= 25, len(asked))
    empty = []
    for where, promql in asked:
        if names_in(promql) & NONE_YET:
            answer = query(promql)
            if untold(promql) or answer != []:
                empty.append((where, promql, answer))
        elif not until(10, lambda: isinstance(query(promql), list) and query(promql)):
            empty.append((where, promql, query(promql)))
    claim("each query of the dashboard gives a series, or counts what has not happened", not empty, empty)
    ids = [p["id"] for p in dashboard["panels"]]
    claim("no two of its panels share an id", len(ids) == len(set(ids)), ids)
    # A rule that cannot be evaluated, or a text with a mistake in its template, is said there.
    health = until(10, all_evaluated) or rules_health()
    claim("Prometheus evaluates every rule", health and set(health) == {"ok"}, health)
    claim("and none fires at a sidecar in order", query('ALERTS{alertstate="firing"}') == [], query("ALERTS"))
    claim("Prometheus has nothing to complain of", said("prometheus") == "", said("prometheus"))
    sidecar.send_signal(signal.SIGTERM)
    claim("the sidecar ends with 0", sidecar.wait(120) == 0, said("sidecar"))
    prometheus.kill()
    prometheus.wait()


main()
raise SystemExit(status())
