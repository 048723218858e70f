# SPDX-License-Identifier: MIT
# For scripts behind tests/runtime/cli/program.sh: serve_pages starts pages.py and sets $url
# (http), $tls_url, $socket and $tls_cert. It ends with the script. Without python3 the script is
# skipped.
pages_source=$(cd "$srcdir/tests/runtime/scrape" && pwd)

serve_pages() {
    if ! command -v python3 >/dev/null; then
        skip_package "what is told by a server of pages" python3
        exit 0
    fi
    mkdir "$claims_tmp/pages"
    tls_cert=$pages_source/tls/cert.pem
    socket=$claims_tmp/pages/sock
    mkfifo "$claims_tmp/pages/ports"
    python3 "$pages_source/pages.py" "$tls_cert" "$pages_source/tls/key.pem" "$socket" \
        >"$claims_tmp/pages/ports" &
    pid=$!
    read -r pages_port pages_tls_port <"$claims_tmp/pages/ports"
    url=http://127.0.0.1:$pages_port
    tls_url=https://127.0.0.1:$pages_tls_port
}
