#!/bin/sh
# SPDX-License-Identifier: MIT
# runtime/http against nginx `return 200`, both with one thread, in the same run and in turns: over
# TCP one request at a time and eight pipelined (wrk), over a unix socket (h2load). Prints medians
# and their ratio. On a busy machine the ratio is a guess, and is marked.
#
#   bench/http/http.sh SERVE       SERVE: the program bench/http/serve of the build
#   ROUNDS=5 SECONDS_EACH=2        in the environment, for longer or shorter
set -eu
serve=${1:?"usage: http.sh SERVE"}
rounds=${ROUNDS-5}
each=${SECONDS_EACH-2}
for program in nginx:nginx-light wrk:wrk h2load:nghttp2-client; do
    command -v "${program%%:*}" >/dev/null || {
        echo "not measured: no ${program%%:*} (package ${program#*:})"
        exit 77
    }
done

tmp=$(mktemp -d)
chmod 755 "$tmp"
nginx_pid=
stop()
{
    exec 3>&- || :
    test -z "$nginx_pid" || kill "$nginx_pid" 2>/dev/null || :
    wait
    rm -rf "$tmp"
}
trap stop EXIT
trap 'exit 1' INT TERM

# --- the two servers

free_port()
{
    # What the kernel gave to a socket that is closed again.
    : | "$serve" 127.0.0.1:0 | sed 's/.*://'
}
nginx_port=$(free_port)
cat >"$tmp/nginx.conf" <<END
worker_processes 1;
daemon off;
pid $tmp/nginx.pid;
error_log $tmp/nginx.log warn;
events { worker_connections 1024; }
http {
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path $tmp/a; proxy_temp_path $tmp/b; fastcgi_temp_path $tmp/c;
    uwsgi_temp_path $tmp/d; scgi_temp_path $tmp/e;
    server {
        listen 127.0.0.1:$nginx_port;
        listen unix:$tmp/nginx.sock;
        location / { return 200; }
    }
}
END
nginx -c "$tmp/nginx.conf" -e "$tmp/nginx.log" &
nginx_pid=$!
mkfifo "$tmp/hold"
"$serve" 127.0.0.1:0 "unix:$tmp/ours.sock" <"$tmp/hold" >"$tmp/listening" &
serve_pid=$!
exec 3>"$tmp/hold" # serve runs as long as this is open

tries=0
until test "$(wc -l <"$tmp/listening")" -eq 2 && test -S "$tmp/nginx.sock" && test -S "$tmp/ours.sock"; do
    tries=$((tries + 1))
    test $tries -lt 100 || { echo "not measured: a server did not start"; cat "$tmp/nginx.log"; exit 1; }
    sleep 0.05
done
ours_port=$(sed -n 's/^127.0.0.1://p' "$tmp/listening")

cat >"$tmp/pipelined.lua" <<'END'
init = function(args)
    local r = {}
    for i = 1, 8 do r[i] = wrk.format("GET", "/") end
    req = table.concat(r)
end
request = function() return req end
END

# --- measuring

with_wrk() # PORT [SCRIPT...]: requests/s and p99 in µs
{
    port=$1
    shift
    wrk -t1 -c16 -d"${each}s" --latency "$@" "http://127.0.0.1:$port/" | awk '
        $1 == "99%" { p = $2; u = p; sub(/[0-9.]+/, "", u)
                      p *= u == "us" ? 1 : u == "ms" ? 1000 : 1000000 }
        $1 == "Requests/sec:" { rate = $2 }
        /Non-2xx|Socket errors/ { bad = 1 }
        END { if (bad || !rate) exit 1; printf "%.0f %.0f\n", rate, p }'
}
with_h2load() # SOCKET: requests/s and 0
{
    h2load --h1 -c16 -t1 -D "$each" -B "unix:$1" http://localhost/ | awk '
        $1 == "finished" { rate = $4 }
        $1 == "requests:" { for (i = 2; i <= NF; i++) if ($i == "failed,") bad = $(i - 1) }
        END { if (bad > 16 || !rate) exit 1; printf "%.0f 0\n", rate }'
}
one() # CASE ours|nginx
{
    case $1-$2 in
    tcp-ours) with_wrk "$ours_port" ;;
    tcp-nginx) with_wrk "$nginx_port" ;;
    pipelined-ours) with_wrk "$ours_port" -s "$tmp/pipelined.lua" ;;
    pipelined-nginx) with_wrk "$nginx_port" -s "$tmp/pipelined.lua" ;;
    unix-ours) with_h2load "$tmp/ours.sock" ;;
    unix-nginx) with_h2load "$tmp/nginx.sock" ;;
    esac
}
median() # COLUMN <NUMBERS
{
    awk -v c="$1" '{ print $c }' | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
# Share of the time in which our server could have run and had to wait for a core.
waited()
{
    awk '{ print $1, $2 }' "/proc/$serve_pid/schedstat"
}

printf '%-10s %12s %12s %7s %10s %10s\n' case ours/s nginx/s ratio 'p99 us' 'nginx p99'
for case in tcp pipelined unix; do
    waited >"$tmp/before"
    : >"$tmp/ours.txt"
    : >"$tmp/nginx.txt"
    round=0
    while test $round -lt "$rounds"; do
        one $case ours >>"$tmp/ours.txt"
        one $case nginx >>"$tmp/nginx.txt"
        round=$((round + 1))
    done
    waited >"$tmp/after"
    busy=$(cat "$tmp/before" "$tmp/after" | awk 'NR == 1 { r = $1; d = $2 }
        NR == 2 { run = $1 - r; late = $2 - d; printf "%.0f", run ? 100 * late / (run + late) : 100 }')
    note=
    test "$busy" -le 5 || note="  (busy: $busy % of our time waiting for a core)"
    awk -v c=$case -v a="$(median 1 <"$tmp/ours.txt")" -v b="$(median 1 <"$tmp/nginx.txt")" \
        -v p="$(median 2 <"$tmp/ours.txt")" -v q="$(median 2 <"$tmp/nginx.txt")" -v note="$note" \
        'BEGIN { printf "%-10s %12d %12d %7.2f %10s %10s%s\n", c, a, b, a / b, p ? p : "-", q ? q : "-", note }'
done
