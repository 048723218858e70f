#!/bin/sh
# SPDX-License-Identifier: MIT
# Brings the chart library: uplot.js and uplot.css in TO, both empty where it cannot be had, which
# is said and is no failure: the pages then hold tables alone.
#
#     uplot.sh PAGE TO auto      from npm, by the hash in PAGE/package-lock.json
#     uplot.sh PAGE TO yes       the same, and failing is a failure
#     uplot.sh PAGE TO no        none
#     uplot.sh PAGE TO DIR       from an unpacked package (it holds dist/ and LICENSE)
set -eu
page=$1 to=$2 from=$3

none() # REASON
{
    : >"$to/uplot.js"
    : >"$to/uplot.css"
    echo "charts: none, the pages hold tables alone: $1" >&2
    test "$from" = auto || test "$from" = no
    exit
}

take() # DIR
{
    {
        echo "/*! uPlot"
        cat "$1/LICENSE"
        echo "*/"
        cat "$1/dist/uPlot.iife.min.js"
    } >"$to/uplot.js"
    cat "$1/dist/uPlot.min.css" >"$to/uplot.css"
}

case $from in
no) none "configured --without-uplot" ;;
auto | yes) ;;
*)
    take "$from"
    exit
    ;;
esac
command -v npm >/dev/null || none "package npm is not installed"
rm -rf "$to/npm"
mkdir "$to/npm"
cp "$page/package.json" "$page/package-lock.json" "$to/npm"
(cd "$to/npm" && npm ci --ignore-scripts --no-audit --no-fund --prefer-offline \
    --fetch-retries=0 --fetch-timeout=15000 >../npm.log 2>&1) ||
    none "npm: $(grep -m 1 -i error "$to/npm.log" || echo "see $to/npm.log")"
take "$to/npm/node_modules/uplot"
rm -rf "$to/npm"
