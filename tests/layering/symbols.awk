# SPDX-License-Identifier: MIT
# Holds the undefined symbols of core's archive against the list.
#   nm -A -P libadmitperf-core.a | awk -f symbols.awk core-symbols.allow -
# Prints a line for each that is not allowed; exits 1 if there was one, or no symbol at all.

# "…/lib.a[lib_la-error.o]:" or "…/lib.a:lib_la-error.o:" → "error.o"
function object_of(place)
{
    sub(/\]?:$/, "", place)
    sub(/^.*[\[:]/, "", place)
    sub(/^.*-/, "", place)
    return place
}

function plain(symbol)
{
    sub(/@.*$/, "", symbol)
    if (symbol ~ /^__.*_chk$/) {
        sub(/^__/, "", symbol)
        sub(/_chk$/, "", symbol)
    }
    return symbol
}

FNR == NR {
    sub(/#.*$/, "")
    if (NF == 0)
        next
    listed[$1] = 1
    if (NF == 1)
        anywhere[$1] = 1
    for (i = 2; i <= NF; i++)
        only[$1, $i] = 1
    next
}

NF >= 3 {
    seen = 1
    if ($3 == "U" || $3 == "w" || $3 == "v")
        used[$2, object_of($1)] = 1
    else
        defined[$2] = 1
}

END {
    if (!seen) {
        print "no symbols to judge"
        exit 1
    }
    for (use in used) {
        split(use, part, SUBSEP)
        name = plain(part[1])
        if (part[1] in defined || anywhere[name] || only[name, part[2]])
            continue
        printf "core's %s uses %s, which %s\n", part[2], name,
            listed[name] ? "is for other objects only" : \
            name ~ /^adp_/ ? "core does not define" : "is not listed"
        bad = 1
    }
    exit bad
}
