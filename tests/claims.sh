# SPDX-License-Identifier: MIT
# What a test script says: one line for each claim. To be sourced, by a script run from the top
# of a build with srcdir set, as `make check` does it:
#
#     . "$srcdir/tests/claims.sh"
#     claim "an unknown command is a usage error" exits 2 ./admitperf frobnicate
#     skip "the published figures come out" "no ../shared/data"
#     skip_package "the tree is formatted" clang-format-14
#     claims_of "serve does as it says" python3 serve.py ./admitperf
#
# Lines are TAP without a plan ("ok - …", "not ok - …", "ok - … # SKIP …") and are counted by
# tests/summary.sh. A skip that names a package is one that `./bootstrap check` could have
# installed: it fails there. The script's own exit status follows from its claims.
# Leaves to the scripts: `set -eu`.
LC_ALL=C
export LC_ALL

claims_tmp=$(mktemp -d "${TMPDIR:-/tmp}/claims.XXXXXX") || exit 99 # the script's; removed at its end
claims_passed=0 claims_failed=0 claims_skipped=0

# claim TEXT COMMAND...: holds if the command exits 0. What it printed is shown if it does not.
claim()
{
    claims_text=$1
    shift
    if "$@" >"$claims_tmp/.said" 2>&1 </dev/null; then
        claims_passed=$((claims_passed + 1))
        echo "ok - $claims_text"
    else
        claims_status=$?
        claims_failed=$((claims_failed + 1))
        echo "not ok - $claims_text"
        sed 's/^/# /' "$claims_tmp/.said"
        echo "# status $claims_status of: $*"
    fi
}

# Commands for claim.
fails() # COMMAND...: it exits, and not with 0
{
    if "$@"; then return 1; else return 0; fi
}

exits() # STATUS COMMAND...: it exits with exactly this status
{
    claims_want=$1
    shift
    claims_got=0
    "$@" || claims_got=$?
    test "$claims_got" -eq "$claims_want" || { echo "exit status $claims_got, expected $claims_want"; return 1; }
}

says() # TEXT COMMAND...: what it prints, out or err, holds this text; any exit status
{
    claims_want=$1
    shift
    claims_got=$("$@" 2>&1) || :
    printf '%s\n' "$claims_got" | grep -qF -e "$claims_want" ||
        { printf 'expected "%s", found:\n%s\n' "$claims_want" "$claims_got"; return 1; }
}

# skip TEXT REASON: not asked here, and why.
skip()
{
    claims_skipped=$((claims_skipped + 1))
    echo "ok - $1 # SKIP $2"
}

# skip_package TEXT PACKAGE: not asked because a package of Debian's is missing.
skip_package()
{
    skip "$1" "package $2 is not installed"
}

# claims_of TEXT COMMAND...: a program that prints its own claims, a line each as above; they are
# counted as this script's. What it says on standard error is shown behind them. It ends with 77
# if it cannot ask: the last line there says why, and TEXT is skipped. Otherwise TEXT fails if it
# ends badly with nothing else that failed.
claims_of()
{
    claims_text=$1
    shift
    claims_got=0
    "$@" >"$claims_tmp/.claims" 2>"$claims_tmp/.why" </dev/null || claims_got=$?
    if test "$claims_got" -eq 77; then
        skip "$claims_text" "$(tail -n 1 "$claims_tmp/.why")"
        return
    fi
    cat "$claims_tmp/.claims"
    sed 's/^/# /' "$claims_tmp/.why"
    claims_n=$(grep -c '^ok .*# SKIP' "$claims_tmp/.claims" || :)
    claims_skipped=$((claims_skipped + claims_n))
    claims_passed=$((claims_passed + $(grep -c '^ok ' "$claims_tmp/.claims" || :) - claims_n))
    claims_n=$(grep -c '^not ok ' "$claims_tmp/.claims" || :)
    claims_failed=$((claims_failed + claims_n))
    test "$claims_got" -eq 0 || test "$claims_n" -gt 0 ||
        claim "$claims_text" test "$claims_got" -eq 0
}

# tracked PATTERN...: the project's files of these names, relative to $srcdir, which is what it
# has to be called in. New ones that git does not ignore are among them; without git, what lies
# there and was not built.
tracked()
{
    if test -e .git && git ls-files >/dev/null 2>&1; then
        git ls-files -co --exclude-standard -- "$@" | sort -u
    else
        tracked_or=
        tracked_n=$#
        while test "$tracked_n" -gt 0; do
            set -- "$@" $tracked_or -name "$1"
            shift
            tracked_or=-o
            tracked_n=$((tracked_n - 1))
        done
        find . \( -name build -o -name build-aux -o -name _build -o -name _inst -o -name '.?*' -o \
            -name autom4te.cache -o -name "admitperf-[0-9]*" -o -path ./config.h \) -prune -o \
            -type f \( "$@" \) -print | sed 's|^\./||' | sort
    fi | while read -r tracked_file; do
        if test -f "$tracked_file"; then printf '%s\n' "$tracked_file"; fi
    done
}

claims_end()
{
    claims_status=$?
    rm -rf "$claims_tmp"
    test $claims_status -eq 0 || exit $claims_status
    test $claims_failed -eq 0 || exit 1
    if test $((claims_passed + claims_skipped)) -eq 0; then
        echo "not ok - this script claims something"
        exit 1
    fi
    test $claims_passed -gt 0 || exit 77
    exit 0
}
trap claims_end EXIT
trap 'exit 130' INT TERM
