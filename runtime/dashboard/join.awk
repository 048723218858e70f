# SPDX-License-Identifier: MIT
# Modules of ours become one script: `awk -f join.awk FILE...`. What they import from each other
# stands before them, so lines that import are left out, and the word export. Hence an import is
# one line, and no two modules have a name at their top in common.
/^import / { next }
{
    sub(/^export /, "")
    print
}
