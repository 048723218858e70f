# SPDX-License-Identifier: MIT
# For the scripts beside this file: a gateway of the name of the script, or a skip that says what
# to install.
#
#     needs nginx nginx libnginx-mod-http-js /usr/lib/nginx/modules/ngx_http_js_module.so
#     runs [FOLDER]      with FOLDER: a real engine, kept there
. "$srcdir/tests/claims.sh"
gateway=$(basename "$0" .test)
gateway=${gateway%-engine}
missing=

# needs PACKAGE PROGRAM-OR-FILE
needs()
{
    case $2 in
    /*) test -e "$2" || missing=$1 ;;
    *) command -v "$2" >/dev/null || missing=$1 ;;
    esac
}

runs()
{
    if test -n "$missing"; then
        skip_package "$gateway asks and is answered" "$missing"
        return
    fi
    # It prints its claims itself.
    status=0
    python3 "$srcdir/tests/gateways/gateways.py" "$PWD/runtime/cli/admitperf" \
        "$(cd "$srcdir" && pwd)" "$gateway" "$@" >"$claims_tmp/said" 2>"$claims_tmp/err" || status=$?
    cat "$claims_tmp/said"
    sed 's/^/# /' "$claims_tmp/err"
    claims_skipped=$(grep -c '^ok .*# SKIP' "$claims_tmp/said" || :)
    claims_passed=$(($(grep -c '^ok' "$claims_tmp/said" || :) - claims_skipped))
    claims_failed=$((claims_failed + $(grep -c '^not ok' "$claims_tmp/said" || :)))
    test "$status" -eq 0 || test "$claims_failed" -gt 0 ||
        claim "$gateway: the test ends well" test "$status" -eq 0
}
