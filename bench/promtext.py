#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Reading a metrics page, against Python's prometheus_client in the same run.

promtext.py BENCH_PROGRAM [PAGE]: PAGE is an engine's page of 300 to 400 series; without one, a
page is made that has what vLLM prints. Every scrape has other numbers: each value of the page
that is not 0 is moved on, but for those that stay while an engine runs (_created, _info,
process_start_time). The two take turns, and the fastest of each counts.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from prometheus_client.parser import text_string_to_metric_families

SCRAPES, TURNS = 16, 25
SAMPLE = re.compile(r"^([^#\s][^\n]*?[ }])(-?[0-9][0-9.e+]*)$", re.M)

STAYS = re.compile(r"^[^{]*(_created|_info|_start_time_seconds)\b")


def made_page():
    """About 380 series of one engine: gauges, counters, and histograms, which are most."""
    label = 'engine="0",model_name="m-8b-instruct"'
    lines = []
    for name in ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"):
        lines += [f"# HELP vllm:{name} What it is.", f"# TYPE vllm:{name} gauge",
                  f"vllm:{name}{{{label}}} 3.0"]
    for i in range(24):
        lines += [f"# HELP vllm:counter_{i}_total What it counts.",
                  f"# TYPE vllm:counter_{i}_total counter",
                  f"vllm:counter_{i}_total{{{label}}} {(i * 7919) % 100003}.0",
                  f"# TYPE vllm:counter_{i}_created gauge",
                  f"vllm:counter_{i}_created{{{label}}} 1.7635420{i:02}71828182e+09"]
    for i in range(15):
        lines += [f"# HELP vllm:histogram_{i}_seconds What it measures.",
                  f"# TYPE vllm:histogram_{i}_seconds histogram"]
        for b in range(19):
            lines.append(f'vllm:histogram_{i}_seconds_bucket{{engine="0",le="{b * 0.25}",'
                         f'model_name="m-8b-instruct"}} {float(b * b * (i % 5))}')
        lines += [f'vllm:histogram_{i}_seconds_bucket{{engine="0",le="+Inf",'
                  f'model_name="m-8b-instruct"}} {400.0 * (i % 5)}',
                  f"vllm:histogram_{i}_seconds_count{{{label}}} {400.0 * (i % 5)}",
                  f"vllm:histogram_{i}_seconds_sum{{{label}}} {123.45678901234 * (i % 5)}"]
    return "\n".join(lines) + "\n"


def moved_on(page, by):
    def move(match):
        value = 0 if STAYS.search(match.group(1)) else float(match.group(2))
        return match.group(1) + repr(value + by) if value else match.group(0)
    return SAMPLE.sub(move, page)


def python_ns(pages):
    start = time.perf_counter_ns()
    for page in pages:
        for family in text_string_to_metric_families(page):
            for _ in family.samples:
                pass
    return (time.perf_counter_ns() - start) / len(pages)


def main():
    program = sys.argv[1]
    page = open(sys.argv[2], encoding="utf-8").read() if len(sys.argv) > 2 else made_page()
    pages = [moved_on(page, i) for i in range(SCRAPES)]
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, f"{i}.prom") for i in range(SCRAPES)]
        for path, text in zip(paths, pages):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        for _ in range(TURNS):
            ours.append(json.loads(subprocess.check_output([program, "200", *paths])))
            theirs.append(python_ns(pages[:2]))
    python = min(theirs)
    repeated = min(o["repeated_ns"] for o in ours)
    fresh = min(o["new_ns"] for o in ours)
    print(json.dumps({"series": ours[0]["series"], "bytes": ours[0]["bytes"],
                      "prometheus_client_us": round(python / 1e3, 1),
                      "repeated_us": round(repeated / 1e3, 2), "new_us": round(fresh / 1e3, 2),
                      "repeated_times": round(python / repeated, 1),
                      "new_times": round(python / fresh, 1)}))


main()
