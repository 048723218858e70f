# SPDX-License-Identifier: MIT
# Files as C: `awk -f embed.awk NAME FILE... -- NAME FILE...` prints, for each NAME, an asset that
# asset.h declares, made of its files in their order.
#
# Modules of ours become one script: what they import from each other stands before them, so
# lines that import are left out, and the word export. Hence an import is one line, and no two
# modules have a name at their top in common.
function put(line,    part) {
    while (length(line) > 1000) {
        part = substr(line, 1, 1000)
        quote(part, "")
        line = substr(line, 1001)
    }
    quote(line, "\\n")
}
function quote(text, end) {
    gsub(/[\\"?]/, "\\\\&", text) # "?": no trigraphs
    gsub(/\t/, "\\t", text)
    gsub(/\r/, "\\r", text)
    printf "    \"%s%s\"\n", text, end
}
function finish() {
    if (name != "")
        printf "    \"\";\nconst struct adp_asset adp_asset_%s = { text_%s, sizeof text_%s - 1 };\n", name, name, name
}
BEGIN {
    print "/* Made from runtime/dashboard/page by embed.awk. */"
    print "#include \"runtime/dashboard/asset.h\"\n"
    for (i = 1; i < ARGC; i++) {
        if (ARGV[i] == "--" || i == 1) {
            finish()
            if (ARGV[i] == "--")
                i++
            name = ARGV[i]
            printf "\nstatic const char text_%s[] =\n", name
            continue
        }
        while ((got = (getline line < ARGV[i])) > 0) {
            if (ARGV[i] ~ /page\/[a-z]*\.js$/) {
                if (line ~ /^import /)
                    continue
                sub(/^export /, "", line)
            }
            put(line)
        }
        if (got < 0) {
            print "embed.awk: cannot read " ARGV[i] > "/dev/stderr"
            exit 1
        }
        close(ARGV[i])
    }
    finish()
}
