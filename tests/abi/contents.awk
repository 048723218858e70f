# SPDX-License-Identifier: MIT
# What a policy header may hold, and nothing else (docs/abi.md, "What a header holds"). Reads tokens, one
# a line, as the preprocessor leaves them; says the first thing that is not on this list, with the rule
# that it breaks, and ends with 1:
#
#     extern "C" { ... }
#     enum adp_NAME { ADP_WORD = NUMBER, ... };         a number, or one << another
#     typedef struct adp_NAME { fields } adp_NAME;      or without a body
#     struct adp_NAME;
#     static inline functions; the name and the head of each go to the file `functions`
#     an assertion
#     the entry, once
#
# All but assertions goes to the file `declarations`, of functions their heads.
#
# A field is a fixed-width integer or a double; a pointer to these, to a char, void or a struct of the
# header; a pointer to a function whose parameters and answer are such values and pointers; or an array of
# these or of chars, of arrays too, with numbers of elements. Nothing has an attribute but the entry.
# What else a later minor needs is added here.

# A literal is one token: what is in it counts for nothing.
quote != "" {
    if (escaped) escaped = 0
    else if ($0 == "\\") escaped = 1
    else if ($0 == quote) quote = ""
    if ($0 != quote && quote != "") text = text $0
    else if (quote == "") token[++n] = text "\""
    next
}
$0 == "\"" || $0 == "'" { quote = $0; text = "\""; next }
{ token[++n] = $0 }

BEGIN {
    split("uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t double", list, " ")
    for (i in list) value[list[i]]
    entry = "extern __attribute__ ( ( visibility ( \"default\" ) ) ) const adp_policy admitperf_policy_v1 ;"
    crosses = "only fixed-width integers, double, pointers and UTF-8 cross (docs/abi.md, rule 6)"
    i = 1
}

function bad(why) {
    if (token[i] ~ /^__attribute(__)?$/ || words(i, i + 1) == "[ [") {
        sub(/: (a header holds|it keeps nothing) .*/, "", why)
        why = why ": nothing has an attribute but the entry (docs/abi.md, what a header holds)"
    }
    print why (why ~ /docs\/abi.md/ ? "" : " (docs/abi.md, what a header holds)")
    failed = 1
    exit 1
}
function words(from, to,    said) {
    for (; from <= to && from <= n; from++) said = said (said ? " " : "") token[from]
    return said
}
# The rest of what is said here, for a message.
function rest(    to) {
    for (to = i; to < n && to < i + 12 && token[to] !~ /^[;{]$/; to++);
    return words(i, to)
}
function is(what) {
    if (token[i] != what) return 0
    i++
    return 1
}
function needs(what, where) {
    if (!is(what)) bad(where ": expected " what ", found " rest())
}
function is_name() {
    return token[i] ~ /^[a-z_][A-Za-z0-9_]*$/ && !(token[i] in value) && token[i] !~ /^(const|volatile|restrict|_Atomic|struct)$/
}

# What a declaration begins with: sets `base` to value, char, void or struct, `fixed` where it is const.
function reads_base(where) {
    fixed = is("const")
    if (is("struct")) base = token[i] ~ /^adp_[a-z0-9_]+$/ && token[i + 1] != "{" ? "struct" : ""
    else if (token[i] in value) base = "value"
    else if (token[i] in structs) base = "struct"
    else base = token[i] == "char" || token[i] == "void" ? token[i] : ""
    if (base == "") {
        if (token[i] == "union" || token[i - 1] == "union") bad(where " has a union in it: " crosses)
        if (token[i - 1] == "struct") bad(where " has a body of its own in it: " crosses)
        bad(where " has " rest() ": " crosses)
    }
    i++
    if (is("const")) fixed = 1
}
# A number without a sign, as C writes it; elements: not 0.
function is_number() {
    return token[i] ~ /^(0[xX][0-9a-fA-F]+|[0-9]+)[uU]?$/
}
function reads_elements(where) {
    while (is("[")) {
        if (!is_number() || token[i] ~ /^0[xX]?0*[uU]?$/)
            bad(where " has an array of " token[i] " elements: a field has its size in every minor (docs/abi.md, rule 3)")
        i++
        needs("]", where)
    }
}
# The stars of one declarator: how many; a pointer that cannot be set is no field.
function reads_stars(where,    stars) {
    for (; is("*"); stars++) if (is("const") && token[i] != "*") bad(where " has a const pointer " rest() ": a field is set by who writes it")
    return stars + 0
}
function reads_parameters(where) {
    needs("(", where)
    if (token[i] == "void" && token[i + 1] == ")") i++
    else if (token[i] == ")") bad(where " has a function without a list of parameters")
    else do reads_declared(where, "parameter"); while (is(","))
    needs(")", where)
}
# One declaration, without its end: of a field, which may have several declarators, or a parameter.
function reads_declared(where, kind,    of, unset, stars, start) {
    start = i
    reads_base(where)
    of = base
    unset = fixed
    do {
        stars = reads_stars(where)
        if (stars == 0 && of != "value" && !(of == "void" && token[i] == "(") && !(of == "char" && kind == "field" && token[i + 1] == "["))
            bad(where " has " words(start, i) ": " crosses)
        if (stars == 0 && unset) bad(where " has " words(start, i) ", which is const: a field is set by who writes it")
        if (is("(")) {
            needs("*", where)
            if (!is_name()) bad(where ": expected a name, found " rest())
            i++
            if (kind == "field") reads_elements(where)
            needs(")", where)
            reads_parameters(where)
        } else if (is_name()) {
            i++
            if (kind == "field") reads_elements(where)
        } else if (kind == "field") bad(where ": expected a name, found " rest() ": " crosses)
    } while (kind == "field" && is(","))
}

function reads_enum(    where, start, word, start_of) {
    start = i
    where = "enum " token[i]
    if (token[i] !~ /^adp_[a-z0-9_]+$/) bad(where ": an enum is named adp_")
    i++
    needs("{", where)
    do {
        if (token[i] == "}") break
        if (token[i] !~ /^ADP_[A-Z0-9_]+$/) bad(where " has a word that is not ADP_: " rest())
        i++
        needs("=", where " " token[i - 1])
        word = token[i - 2]
        start_of = i
        if (is_number() && words(i + 1, i + 2) == "< <") i += 3
        if (!is_number() || token[i + 1] !~ /^[,}]$/) {
            i = start_of
            bad(where ": " word " is " rest() ": a word is a number of 32 bits without a sign, or one << another")
        }
        i++
    } while (is(","))
    needs("}", where)
    needs(";", where)
    print "enum " words(start, i - 1) >declarations
}
function reads_struct(    name, start) {
    start = i
    name = token[i]
    if (name !~ /^adp_[a-z0-9_]+$/) bad("struct " name ": a struct is named adp_")
    i++
    if (is("{")) {
        if (token[i] == "}") bad(name " has no field")
        while (!is("}")) {
            reads_declared(name, "field")
            needs(";", name)
        }
    }
    needs(name, "typedef struct " name)
    needs(";", "typedef struct " name)
    structs[name]
    print "struct " words(start, i - 1) >declarations
}
# A function of each file that includes the header: nothing that is one for all, or that is asked of others.
function reads_function(    start, name, head, depth) {
    start = i
    for (; i <= n && token[i] != "("; i++) {
        if (token[i] !~ /^([a-z_][a-z0-9_]*|\*)$/ || token[i] ~ /^(__.*|_Noreturn|static|extern)$/) bad("static inline " words(start, i) ": " holds)
        name = token[i]
    }
    if (name !~ /^adp_[a-z0-9_]+$/) bad("static inline " name ": a function is named adp_")
    for (; i <= n && token[i] !~ /^[{;]$/; i++) if (token[i] ~ /^(__attribute__|__asm__|asm)$/) bad(name " has " rest() ": " holds)
    head = words(start, i - 1)
    if (token[i] != "{") bad("static inline " words(start, i) ": it is without a body")
    do {
        if (token[i] == "{") depth++
        if (token[i] == "}") depth--
        if (token[i] ~ /^(static|extern|asm|__asm__|__asm|_Thread_local|thread_local|__thread|__attribute__)$/)
            bad(name " has " rest() ": it keeps nothing and asks nothing of others (docs/abi.md, rules 1, 7 and 8)")
        i++
    } while (depth > 0 && i <= n)
    if (depth) bad(name " does not end")
    print name, head >functions
    print name, head >declarations
}
function reads_assertion(    depth) {
    i++
    do {
        if (token[i] == "(") depth++
        if (token[i] == ")") depth--
        if (token[i] ~ /^[{};]$/) bad("an assertion of more than a condition: " rest())
        i++
    } while (depth > 0 && i <= n)
    needs(";", "an assertion")
}

END {
    if (failed) exit 1
    holds = "a header holds enums, structs, static inline functions, assertions and the entry (docs/abi.md, what a header holds; rules 7 and 8)"
    printf "" >functions
    printf "" >declarations
    while (i <= n) {
        if (words(i, i + 2) == "extern \"C\" {") { i += 3; opened++ }
        else if (token[i] == "}" && opened) { i++; opened-- }
        else if (words(i, i + 13) == entry) { i += 14; entries++ }
        else if (words(i, i + 1) == "typedef struct") { i += 2; reads_struct(); n_structs++ }
        else if (words(i, i + 1) == "static inline") { i += 2; reads_function(); n_functions++ }
        else if (is("enum")) { reads_enum(); n_enums++ }
        else if (words(i, i) == "struct" && token[i + 1] ~ /^adp_[a-z0-9_]+$/ && token[i + 2] == ";") {
            print words(i, i + 2) >declarations
            i += 3
        } else if (token[i] ~ /^(_Static|static)_assert$/) reads_assertion()
        else bad("there is " rest() ": " (token[i] == "union" ? crosses : holds))
    }
    if (opened || entries != 1) bad(entries + 0 " entries, " opened + 0 " blocks that are open: " holds)
    if (n_structs < 10 || n_enums < 10 || n_functions < 11) bad("few structs, enums or functions found")
}
