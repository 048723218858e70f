# SPDX-License-Identifier: MIT
# `awk -f shown.awk OUTPUT BLOCK`: whether the lines of BLOCK, as a page shows them, are those of
# OUTPUT, as a command printed them. A line "…" stands for any lines left out, the others are
# exactly its own. Says what differs, and exits 1.
BEGIN { n = at = 0 }
FNR == NR { out[n++] = $0; next }
$0 == "…" { gap = 1; next }
{
    while (gap && at < n && out[at] != $0)
        at++
    if (at >= n || out[at] != $0) {
        print "not printed there: " $0
        bad = 1
        exit
    }
    at++
    gap = 0
}
END {
    if (!bad && !gap && at < n) {
        print "also printed: " out[at]
        bad = 1
    }
    exit bad
}
