#!/bin/sh
# SPDX-License-Identifier: MIT
# Files as C: `embed.sh NAME=FILE...` prints the assets that asset.h declares, each as it is and
# by gzip without a name or a time: equal files give equal C.
set -eu

bytes() # FILE
{
    od -An -v -to1 "$1" | sed 's/  */\\/g; s/\\$//; s/.*/    "&"/'
}

echo '/* Made from runtime/dashboard/page by embed.sh. */'
echo '#include "runtime/dashboard/asset.h"'
packed=$(mktemp)
trap 'rm -f "$packed"' EXIT
for pair; do
    name=${pair%%=*} file=${pair#*=}
    gzip -9 -n <"$file" >"$packed"
    printf '\nstatic const char text_%s[] =\n' "$name"
    bytes "$file"
    printf '    "";\nstatic const char packed_%s[] =\n' "$name"
    bytes "$packed"
    printf '    "";\nconst struct adp_asset adp_asset_%s = {\n' "$name"
    printf '    text_%s, sizeof text_%s - 1, packed_%s, sizeof packed_%s - 1\n};\n' \
        "$name" "$name" "$name" "$name"
done
