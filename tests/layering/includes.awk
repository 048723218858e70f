# SPDX-License-Identifier: MIT
# Holds the #include lines of sources against the table of rooms.
#   awk -f includes.awk ROOMS FILE...      run at the top, with paths relative to it
# Prints "file:line: …" for each that breaks the table; exits 1 if there was one.
# Knows lines, not the preprocessor: an include under #if counts too.

function complain(text)
{
    printf "%s:%d: %s\n", FILENAME, FNR, text
    bad = 1
}

# The room whose folder holds this path, the deepest one; "" if none does.
function room_of(path)
{
    while (sub(/\/[^\/]*$/, "", path))
        if (path in room)
            return path
    return ""
}

# Whether a may include b, by way of others or not.
function may(a, b,    n, i, step)
{
    if (a == b || allows[a, "*"] || allows[a, b])
        return 1
    n = split(room[a], step, " ")
    for (i = 1; i <= n; i++)
        if (may(step[i], b))
            return 1
    return 0
}

function read_table(    kind, name, rest, n, word, i, m, names, j)
{
    if ($0 ~ /^[ \t]*(#|$)/)
        return
    kind = $1
    name = $0
    rest = $0
    if (!sub(/:.*$/, "", name) || !sub(/^[^:]*:/, "", rest)) {
        complain("not a line of the table")
        return
    }
    sub(/^[ \t]*[a-z]+[ \t]+/, "", name)
    n = split(rest, word, " ")
    sub(/^[ \t]+/, "", rest)
    if (kind == "room") {
        room[name] = rest
        for (i = 1; i <= n; i++)
            allows[name, word[i]] = 1
    } else if (kind == "only") {
        strict[name] = 1
        for (i = 1; i <= n; i++)
            header[name, word[i]] = 1
    } else if (kind == "keep") {
        m = split(name, names, " ")
        for (j = 1; j <= m; j++) {
            kept[names[j]] = rest
            for (i = 1; i <= n; i++)
                keeper[names[j], word[i]] = 1
        }
    } else {
        complain("not a line of the table")
    }
}

FNR == NR {
    read_table()
    next
}

FNR == 1 {
    here = room_of(FILENAME)
    if (here == "")
        complain("lies in no room of the table")
}

here != "" && /^[ \t]*#[ \t]*include[ \t]*["<]/ {
    quoted = $0 ~ /include[ \t]*"/
    target = $0
    sub(/^[^"<]*["<]/, "", target)
    sub(/[">].*$/, "", target)
    if (target ~ /^admitperf\//)
        target = "sdk/include/" target
    else if (!quoted) {
        if (strict[here] && !header[here, target])
            complain("room " here " may not include <" target ">")
        else if ((target in kept) && !keeper[target, here] && here !~ /^(tests|bench)$/)
            complain("<" target "> is for " kept[target] ", not for room " here)
        next
    } else if (target !~ /\//)
        next # beside the file itself, or autoconf's config.h
    there = room_of(target)
    if (there == "")
        complain("includes \"" target "\", which lies in no room of the table")
    else if (!may(here, there))
        complain("room " here " may not include room " there " (\"" target "\")")
}

END {
    exit bad
}
