#!/bin/sh
# SPDX-License-Identifier: MIT
# Rows of the benches, tab-separated on stdin (bench/measure.h), as the tables of
# docs/performance.md, which it replaces from its mark on.
#
#     table.sh DOCUMENT
set -eu
document=$1
mark='<!-- From here on written by make bench. -->'
grep -qxF -e "$mark" "$document" || { echo "table.sh: $document has no mark" >&2; exit 2; }
new=$(mktemp "$document.XXXXXX")
trap 'rm -f "$new"' EXIT
{
    sed "/^$mark\$/q" "$document"
    echo
    printf 'Measured on %s, %s processors (%s), Linux %s.\n' "$(date +%Y-%m-%d)" \
        "$(getconf _NPROCESSORS_ONLN)" \
        "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)" "$(uname -r | cut -d- -f1)"
    awk -F '\t' '
        NF != 7 { print "table.sh: not a row: " $0 > "/dev/stderr"; bad = 1; exit }
        $1 != section {
            section = $1
            print "\n## " section "\n"
            print "| what | measured | yardstick in the same run | ratio | target | |"
            print "|---|---|---|---|---|---|"
        }
        { printf "| %s | %s | %s | %s | %s | %s |\n", $2, $3, $4, $5, $6, $7 }
        END { exit bad }'
} >"$new"
cat "$new" >"$document" # keeps its owner and mode
