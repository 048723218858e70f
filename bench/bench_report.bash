#!/bin/bash
# SPDX-License-Identifier: MIT
# How fast a log is read: report with one processor and with two, wc -l, and DuckDB on one
# thread, in turn, over the log that make_log writes. And how fast it is replayed: one policy and
# the baseline beside it, without logs, with the two logs of theirs, and with a sweep of ten.
#
#     bench_report.bash ADMITPERF MAKE_LOG [DECISIONS [ROUNDS]]
#
# DuckDB is npm's @duckdb/node-api, looked for in $BENCH_DUCKDB (a folder with node_modules)
# or in ./node_modules; without it its row says so. Each figure is the least of the rounds.
# Where a round waited for a processor for more than a twentieth of its time, it counts for
# nothing; where none is left, the row says "not measured". "processor" is the time that the
# processors worked, which others on the machine disturb little. The original needed 18.3 s
# and 3.0 GB for 400,000 decisions, on another machine.
set -u
admitperf=$1
make_log=$2
decisions=${3:-400000}
rounds=${4:-7}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/bench-report.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
log=$work/log.jsonl
"$make_log" "$decisions" >"$log" || exit 2
cat "$log" >/dev/null
size=$(stat -c %s "$log")

duckdb=${BENCH_DUCKDB:-$PWD}
NODE_PATH=$duckdb/node_modules node -e 'require("@duckdb/node-api")' 2>/dev/null || duckdb=
processors=$(nproc)
ask=(replay --policy kv_threshold:threshold=0.8)

# NAME COMMAND...: adds "wall processor" in seconds to $work/NAME.
measure() {
    local name=$1 TIMEFORMAT='%R %U %S'
    shift
    { time "$@" >/dev/null 2>&1; } 2>"$work/time"
    awk '{ print $1, $2 + $3 }' "$work/time" >>"$work/$name"
}

for ((round = 0; round < rounds; round++)); do
    measure one taskset -c 0 "$admitperf" report "$log"
    [ "$processors" -gt 1 ] && measure two taskset -c 0,1 "$admitperf" report "$log"
    measure replay taskset -c 0 "$admitperf" "${ask[@]}" -n "$log"
    [ "$processors" -gt 1 ] && measure replay2 taskset -c 0,1 "$admitperf" "${ask[@]}" -n "$log"
    measure written taskset -c 0 "$admitperf" "${ask[@]}" -o "$work/logs" "$log"
    measure sweep taskset -c 0 "$admitperf" "${ask[@]}" -n --sweep threshold=0.5..0.95/10 "$log"
    measure wc wc -l "$log"
    [ -n "$duckdb" ] && NODE_PATH=$duckdb/node_modules \
        measure duckdb taskset -c 0 node "$here/bench_report_duckdb.cjs" "$log"
done

# NAME: the least wall time of a round on one processor that waited little; "-": none.
wall() {
    [ -s "$work/$1" ] || { echo -; return; }
    awk -v n="${2:-1}" '$2 * 1.05 * (n > 1 ? 1 / n : 1) >= $1 * (n > 1 ? 0.9 : 1) &&
        (!best || $1 < best) { best = $1 } END { print best ? best : "-" }' "$work/$1"
}
worked() {
    [ -s "$work/$1" ] || { echo -; return; }
    awk '!best || $2 < best { best = $2 } END { print best }' "$work/$1"
}
ratio() { # WHAT OVER UNDER TARGET
    if [ "$2" = - ] || [ "$3" = - ]; then
        printf '  %-46s not measured  (target %s)\n' "$1" "$4"
    else
        awk -v a="$2" -v b="$3" -v what="$1" -v t="$4" \
            'BEGIN { printf "  %-46s %8.2f     (target %s)\n", what, a / b, t }'
    fi
}

one=$(wall one) two=$(wall two 2) lines=$(wall wc) duck=$(wall duckdb)
printf 'report: %s decisions, %d MB, %d rounds, %d processors\n' "$decisions" \
    $((size / 1000000)) "$rounds" "$processors"
printf '  %-22s %12s %12s\n' '' 'wall s' 'processor s'
for name in one two replay replay2 written sweep wc duckdb; do
    case $name in
    replay) figure=$(wall replay) title='replay, page only, one' ;;
    replay2) figure=$(wall replay2 2) title='replay, page only, two' ;;
    written) figure=$(wall written) title='replay, its logs too' ;;
    sweep) figure=$(wall sweep) title='replay, sweep of ten' ;;
    one) figure=$one title='report, one processor' ;;
    two) figure=$two title='report, two' ;;
    wc) figure=$lines title='wc -l' ;;
    duckdb) figure=$duck title='DuckDB, one thread' ;;
    esac
    [ "$figure" = - ] && figure='not measured'
    printf '  %-22s %12s %12s\n' "$title" "$figure" "$(worked $name)"
done
if [ "$decisions" -eq 400000 ]; then
    ratio 'the original, 18.3 s, over report' 18.3 "$([ "$two" = - ] && echo "$one" || echo "$two")" '>= 40'
    ratio '  the same by processor time, one thread' 18.3 "$(worked one)" '>= 40'
fi
ratio 'DuckDB over report, one thread' "$duck" "$one" '>= 1.5'
ratio '  the same by processor time' "$(worked duckdb)" "$(worked one)" '>= 1.5'
ratio 'wc -l over report, one processor' "$lines" "$one" '>= 0.15'
ratio '  the same by processor time' "$(worked wc)" "$(worked one)" '>= 0.15'
ratio 'one processor over two' "$one" "$two" '>= 1.8'
ratio '  of the work, what two cost more' "$(worked two)" "$(worked one)" '<= 1.1'
per_second() { # WHAT DECISIONS SECONDS TARGET
    awk -v n="$2" -v s="$3" -v what="$1" -v t="$4" 'BEGIN {
        printf "  %-46s %8.2f M/s (%s)\n", what, n / s / 1e6, t }'
}
ratio 'report over replay, page only, one processor' "$one" "$(wall replay)" '>= 1'
ratio '  the same by processor time' "$(worked one)" "$(worked replay)" '>= 1'
per_second 'replayed for each processor, by its time' "$decisions" "$(worked replay)" \
    "a decision is $((size / decisions)) bytes"
per_second '  with the logs of two policies' "$decisions" "$(worked written)" 'as above'
per_second 'verdicts of a sweep, for each processor' $((decisions * 12)) "$(worked sweep)" \
    'target >= 2'
