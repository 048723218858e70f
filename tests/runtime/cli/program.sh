# SPDX-License-Identifier: MIT
# For the scripts beside this file: claims about the program that take several lines.
#
#     . "$srcdir/tests/runtime/cli/program.sh"
#     claiming "an unknown command is bad usage"
#     try 2 admitperf dmeo
#     err_has 'did you mean "admitperf demo"?'
#     out_is_empty
#
# A claim holds when the next begins, or the script ends. The first that does not ends the
# script, with what was seen. Lines and counts are tests/claims.sh's; the scripts run in a
# folder of their own.
. "$srcdir/tests/claims.sh"
top=$PWD
published=$(cd "$srcdir" && pwd)/../shared/data/published-demo
work=$claims_tmp/work
mkdir "$work"
unset NO_COLOR
claimed= # the claim at hand
pid=     # of a program left running by it

admitperf() { "$top/runtime/cli/admitperf" "$@"; }

settle() {
    [ -z "$claimed" ] || claim "$claimed" true
    claimed=
}

claiming() {
    settle
    claimed=$*
}

broken() {
    printf 'not ok - %s\n' "$claimed"
    {
        printf '%s\n' "$*"
        printf '%s\n' '--- stdout' && head -c 4000 "$work/out"
        printf '%s\n' '--- stderr' && head -c 4000 "$work/err"
    } | sed 's/^/# /'
    claimed=
    exit 1
}

leave() {
    left=$?
    set +e
    [ -z "$pid" ] || kill "$pid" 2>/dev/null
    if [ "$left" -eq 0 ]; then
        settle
    elif [ -n "$claimed" ]; then
        printf 'not ok - %s\n# the script ended with %s\n' "$claimed" "$left"
    fi
    (exit "$left")
    claims_end
}
trap leave EXIT

# try CODE COMMAND...: it ends with that code; its output is looked at by those below.
try() {
    want=$1
    shift
    code=0
    "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
    [ "$code" -eq "$want" ] || broken "$* ended with $code, not $want"
}

out_has() { grep -qF -- "$1" "$work/out" || broken "stdout lacks: $1"; }
# JSON, however it is laid out: $1 without blanks.
json_has() { tr -d ' \n' <"$work/out" | grep -qF -- "$1" || broken "stdout lacks: $1"; }
err_has() { grep -qF -- "$1" "$work/err" || broken "stderr lacks: $1"; }
err_is() { [ "$(cat "$work/err")" = "$1" ] || broken "stderr is not: $1"; }
out_is_empty() { [ ! -s "$work/out" ] || broken "stdout is not empty"; }
err_is_empty() { [ ! -s "$work/err" ] || broken "stderr is not empty"; }
holds() { "$@" || broken "$*"; }
