#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes what is made of the program's table of commands and of docs/, as it is installed below
# share/: man/man1, man/man5, and the completions of three shells.
#     write_pages.sh PROGRAM DOCS LOWDOWN TO
# LOWDOWN turns Markdown into manual pages (https://kristaps.bsd.lv/lowdown/); "": none is there,
# and neither are the pages of section 5.
set -eu
program=$1 docs=$2 lowdown=$3 to=$4
export LC_ALL=C

rm -rf "$to"
mkdir -p "$to/man/man1" "$to/bash-completion/completions" "$to/zsh/site-functions" \
    "$to/fish/vendor_completions.d"

"$program" manual >"$to/man/man1/admitperf.1"
"$program" --help | sed -n '/^Commands$/,/^$/s/^  \([a-z]*\) .*/\1/p' | while read -r name; do
    "$program" manual "$name" >"$to/man/man1/admitperf-$name.1"
done
"$program" completion bash >"$to/bash-completion/completions/admitperf"
"$program" completion zsh >"$to/zsh/site-functions/_admitperf"
"$program" completion fish >"$to/fish/vendor_completions.d/admitperf.fish"

# lowdown writes a font that only some know (\fC), a paragraph behind each heading, where it is
# one already, and neither a NAME nor a name for the first section.
page() # MARKDOWN NAME WHAT
{
    date=$(sed -n 's/^\.Dd //p' "$to/man/man1/admitperf.1")
    "$lowdown" -s -Tman -M title="$2" -M section=5 -M date="$date" "$docs/$1" |
        sed 's/\\fC/\\f(CR/g' | awk -v name="$2" -v what="$3" '
            /^\.[LP]P$/ && titled == 2 { titled = 0; next }
            { titled = titled == 1 ? 2 : 0 }
            /^\.S[HS]$/ { titled = 1 }
            titled == 2 && !described { described = 1; $0 = "DESCRIPTION" }
            { print }
            /^\.TH/ { printf ".SH NAME\n%s \\- %s\n", name, what }' >"$to/man/man5/$2.5"
}
test -n "$lowdown" || exit 0
mkdir "$to/man/man5"
page config.md admitperf.yaml "configuration of AdmitPerf"
page log-format.md admitperf-log "lines that AdmitPerf records"
