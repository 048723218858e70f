#!/bin/sh
# SPDX-License-Identifier: MIT
# Adds up what the tests of several builds said.
#     tests/summary.sh LABEL=BUILDDIR... [LABEL=FILE.tap...]
# Prints each Check program's closing line, each skip with its reason, each failure with its log's
# name and what the log says of it, and last "N passed, N failed, N skipped". Exits 1 if something failed, if nothing
# passed, or if something was skipped for want of a package (bootstrap can install those).
#
# What counts, by program (its .trs and .log of automake's):
#  - Check: each test of "100%: Checks: 5, Failures: 0, Errors: 0";
#  - a script: each "ok", "not ok" and "ok … # SKIP reason" line;
#  - one that says neither: itself, once;
#  - one that failed and names no failure: one more failure. Nothing is counted twice.
# A .tap file counts its lines only.
set -eu

for arg in "$@"; do
    label=${arg%%=*}
    place=${arg#*=}
    if test -d "$place"; then
        find "$place" -name '*.trs' | sort | while read -r trs; do
            printf '%s\t%s\t%s\n' "$label" "${trs%.trs}" "${trs#"$place"/}"
        done
    elif test -f "$place"; then
        printf '%s\t%s\t\n' "$label" "$place"
    else
        printf '%s\t%s\tmissing\n' "$label" "$place"
    fi
done | awk -F '\t' '
function skip_of(where, text, reason)
{
    skipped++
    skips[++n_skips] = where ": " text ": " reason
    if (reason ~ /^package /)
        wanting++
}
function fail_of(where, text, log_name)
{
    failed++
    fails[++n_fails] = "FAILED: " where ": " text "  (" log_name ")"
}
function explain(line)
{
    fails[++n_fails] = "    " line
}
function judge(where, log_name, result,
               line, checks, bad, part, ok, not_ok, skip, reason, last, said, at, n_last, said_of, n_of, i)
{
    while ((getline line < log_name) > 0) {
        if (line ~ /^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+/) {
            split(line, part, /[:,] /)
            checks += part[3]
            bad += part[5] + part[7]
            closing[++n_closing] = line "  " where
        } else if (line ~ /^not ok( |$)/) {
            not_ok++
            sub(/^not ok *(- *)?/, "", line)
            fail_of(where, line, log_name)
            said = 20
        } else if (line ~ /^#/ && said > 0) {
            explain(line)
            said--
        } else if (line ~ /^ok( |$)/) {
            said = 0
            if (match(line, / # SKIP */)) {
                reason = substr(line, RSTART + RLENGTH)
                line = substr(line, 1, RSTART - 1)
                sub(/^ok *(- *)?/, "", line)
                skip_of(where, line, reason)
                skip++
            } else {
                ok++
            }
        } else if (line !~ /^[ \t]*$/ && line !~ /\(exit status: [0-9]+\)$/) {
            last = line
            at[n_last++ % 20] = line
            if (line ~ /:[0-9]+:[FE]:|^SUMMARY: .*Sanitizer|: runtime error: /)
                said_of[++n_of] = line
        }
    }
    close(log_name)
    passed += checks - bad + ok
    if (bad > 0) {
        fail_of(where, bad " of its tests", log_name)
        failed += bad - 1
        for (i = 1; i <= n_of; i++)
            explain(said_of[i])
    }
    if ((result == "FAIL" || result == "ERROR") && bad + not_ok == 0) {
        fail_of(where, "ended with a failure", log_name)
        for (i = n_last > 20 ? n_last - 20 : 0; i < n_last; i++)
            explain(at[i % 20])
    } else if (result == "SKIP" && skip == 0)
        skip_of(where, "all of it", last == "" ? "no reason given" : last)
    else if (result == "PASS" && checks + ok + not_ok + skip == 0)
        passed++
}
$3 == "missing" {
    fail_of($1, "was not run", $2)
    next
}
$3 == "" {
    judge($1, $2, "")
    next
}
{
    result = "ERROR"
    while ((getline line < ($2 ".trs")) > 0)
        if (line ~ /^:test-result: /)
            result = substr(line, 15)
    close($2 ".trs")
    sub(/ .*/, "", result)
    name = $3
    sub(/\.trs$/, "", name)
    judge($1 " " name, $2 ".log", result)
}
END {
    for (i = 1; i <= n_closing; i++)
        print closing[i]
    for (i = 1; i <= n_skips; i++)
        print "skipped: " skips[i]
    for (i = 1; i <= n_fails; i++)
        print fails[i]
    if (wanting)
        print wanting " skipped for want of a package: ./bootstrap check installs it"
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit (failed > 0 || wanting > 0 || passed == 0)
}'
