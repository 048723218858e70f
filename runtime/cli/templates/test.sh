#!/bin/sh
# SPDX-License-Identifier: MIT-0
# Holds each row of rows.txt against what `admitperf decide` answers. Exits 0 when all hold.
cd "$(dirname "$0")" || exit 2
set -f

admitperf=${ADMITPERF:-admitperf}
command -v "$admitperf" >/dev/null || {
    echo "no $admitperf on PATH; ADMITPERF=/where/it/is/admitperf $0 names one" >&2
    exit 2
}
# What is wrong with the configuration or the policy is wrong for every row: it is said once.
said=$("$admitperf" decide -c @NAME@.yaml --json 2>&1) || {
    printf '%s\n' "$said" >&2
    exit 2
}

# The verdict on a page, as a row has it: "admit", "reject kv_pressure", "defer queue_depth".
decide() # PAGE
{
    printf '%s\n' "$1" | tr ';' '\n' |
        "$admitperf" decide -c @NAME@.yaml --metrics - --json |
        sed -n -e 's/.*"fault":"\([^"]*\)".*/fault: \1/p' -e t \
            -e 's/.*"verdict":"\([a-z]*\)".*"reason":"\([a-z_]*\)".*/\1 \2/p' -e t \
            -e 's/.*"verdict":"\([a-z]*\)".*/\1/p'
}

rows=0 failed=0
while IFS='|' read -r claim want page; do
    case $claim in '#'* | '') continue ;; esac
    claim=$(echo $claim) want=$(echo $want) # without the blanks around them
    rows=$((rows + 1))
    got=$(decide "$page")
    if [ "$got" = "$want" ]; then
        echo "ok - $claim"
    else
        failed=$((failed + 1))
        echo "not ok - $claim: ${got:-no answer}, expected $want"
    fi
done <rows.txt
echo "$rows rows, $failed failed"
[ $rows -gt 0 ] && [ $failed -eq 0 ]
