#!/bin/sh
# SPDX-License-Identifier: MIT-0
# Holds each row of rows.txt against what `admitperf decide` answers. Exits 0 when all hold.
cd "$(dirname "$0")" || exit 2
set -f

admitperf=${ADMITPERF:-admitperf}
command -v "$admitperf" >/dev/null || {
    printf 'no %s on PATH; ADMITPERF=/where/it/is/admitperf sh %s names one\n' "$admitperf" "$0" >&2
    exit 2
}
# What is wrong with the configuration or the policy is wrong for every row: it is said once.
said=$("$admitperf" decide -c @NAME@.yaml --json 2>&1) || {
    printf '%s\n' "$said" >&2
    exit 2
}

# The verdict on a page, as a row has it: "admit", "reject kv_pressure", "defer queue_depth".
verdict() # ANSWER
{
    printf '%s\n' "$1" |
        sed -n -e 's/.*"fault":"\([^"]*\)".*/fault: \1/p' -e t \
            -e 's/.*"verdict":"\([a-z]*\)".*"reason":"\([a-z_]*\)".*/\1 \2/p' -e t \
            -e 's/.*"verdict":"\([a-z]*\)".*/\1/p'
}

# The metrics of a page that no signal is read of, each with the known one that is at most three
# letters from it, if there is one.
unknown() # PAGE
{
    unused=$(printf '%s\n' "$1" | "$admitperf" signals -c @NAME@.yaml --json - 2>/dev/null |
        sed -n 's/.*"unused":\[\([^]]*\)\].*/\1/p' | tr -d '"' | tr ',' '\n')
    [ "$unused" ] || return 0
    "$admitperf" signals -c @NAME@.yaml | sed -n 's/^    //p' | tr -c 'A-Za-z0-9_:.' '\n' |
        awk -v unused="$unused" '
        length($0) > 7 { known[$0] }
        function edits(a, b,    i, j, left, old) {
            for (j = 0; j <= length(b); j++)
                row[j] = j
            for (i = 1; i <= length(a); i++) {
                left = row[0]
                row[0] = i
                for (j = 1; j <= length(b); j++) {
                    old = row[j]
                    row[j] = left + (substr(a, i, 1) != substr(b, j, 1))
                    if (row[j] > old + 1) row[j] = old + 1
                    if (row[j] > row[j - 1] + 1) row[j] = row[j - 1] + 1
                    left = old
                }
            }
            return row[length(b)]
        }
        END {
            n = split(unused, name, "\n")
            for (k = 1; k <= n; k++) {
                near = ""
                least = 4
                for (word in known) {
                    e = edits(name[k], word)
                    if (e < least || (e == least && near != "" && word < near)) {
                        least = e
                        near = word
                    }
                }
                print name[k], least < 4 ? near : ""
            }
        }'
}

# Words with one blank between them, none around them, whatever they are to echo.
words() # TEXT
{
    # shellcheck disable=SC2086 # taken apart
    set -- $1
    printf '%s\n' "$*"
}

# What is wrong with a row before the policy is asked; nothing if it is a row.
fault_of() # LINE VERDICT PAGE
{
    case $1 in *'|'*'|'*) ;; *) printf 'is no row, expected CLAIM | VERDICT REASON | METRIC VALUE; ...\n' && return ;; esac
    case $2 in
        admit | 'reject '?* | 'defer '?* | 'fault: '?*) ;;
        *) printf 'is no row: found "%s", expected admit, reject REASON or defer REASON\n' "$2" && return ;;
    esac
    unknown "$3" | while read -r metric near; do
        if [ "$near" ]; then
            printf 'no signal is read of %s, did you mean %s?\n' "$metric" "$near"
            break
        fi
    done
}

rows=0 failed=0 line=0
while IFS= read -r text || [ "$text" ]; do
    line=$((line + 1))
    case $(words "$text") in '#'* | '') continue ;; esac
    IFS='|' read -r claim want page <<END
$text
END
    claim=$(words "$claim") want=$(words "$want")
    lines=$(printf '%s\n' "$page" | tr ';' '\n' | sed 's/^ *//')
    rows=$((rows + 1))
    problem=$(fault_of "$text" "$want" "$lines")
    if [ -z "$problem" ]; then
        said=$(printf '%s\n' "$lines" | "$admitperf" decide -c @NAME@.yaml --metrics - --json 2>&1)
        got=$(verdict "$said")
        problem=$(printf '%s\n' "$said" | sed -n 's/^[^ ]*: -:/at /p') # what is said of the page
        [ -z "$problem" ] || problem="\"$(words "$page")\" is not a metrics page: $problem"
    fi
    if [ "$problem" ]; then
        failed=$((failed + 1))
        printf 'not ok - %s: rows.txt:%s: %s\n' "$claim" $line "$problem"
    elif [ "$got" = "$want" ]; then
        printf 'ok - %s\n' "$claim"
    else
        failed=$((failed + 1))
        unread=$(unknown "$lines" | sed 's/^\([^ ]*\).*/; no signal is read of \1/' | tr -d '\n')
        printf 'not ok - %s: %s, expected %s%s\n' "$claim" "${got:-$said}" "$want" "$unread"
    fi
done <rows.txt
printf '%s rows, %s failed\n' $rows $failed
[ $rows -gt 0 ] && [ $failed -eq 0 ]
