# SPDX-License-Identifier: MIT
# The templates as C: `awk -f embed.awk FILE...` prints the table that templates.h declares.
#
# Lines that name our licence stay behind: what is made from a template is its author's.
BEGIN {
    print "/* Made from runtime/cli/templates by embed.awk. */"
    print "#include \"runtime/cli/templates.h\"\n"
    print "const struct adp_template adp_templates[] = {"
}
FNR == 1 {
    if (NR > 1)
        print "    },"
    name = FILENAME
    sub(/.*\//, "", name)
    printf "    { \"%s\",\n", name
}
/SPDX-License-Identifier/ { next }
{
    gsub(/[\\"?]/, "\\\\&") # "?": no trigraphs
    gsub(/\t/, "\\t")
    printf "      \"%s\\n\"\n", $0
}
END {
    print "    },"
    print "    { 0, 0 },"
    print "};"
}
