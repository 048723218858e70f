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
    claims_of "$gateway asks and is answered" python3 "$srcdir/tests/gateways/gateways.py" \
        "$PWD/runtime/cli/admitperf" "$(cd "$srcdir" && pwd)" "$gateway" "$@"
}
