# SPDX-License-Identifier: MIT
# Whether a policy header, compiled as a released minor, is still the header that was released.
# To be sourced after tests/claims.sh.
#
#     gate HEADER RELEASED MINOR      all of it; says what differs
#
# Each look is taken at the released minor, where the header must be the same, and at later ones
# (gate_later), where it may have grown beyond the minor before: struct bodies and enums at their end, and
# by names that were not there; what is in minor n is in n + 1. Ten looks, which have different blind
# spots; text, macros, layout and helpers in C and C++, of both compilers, all of these but layout with and
# without optimisation; contents in C and C++ of one compiler; conditions and bodies of the source as it is
# written, so that they hold in every dialect, also one that nobody reads here:
#   conditions what the header is made to depend on: its guard, __cplusplus, the minor, up to the next
#              one. What else a compiler or an author may define, nothing in it names: no name in capitals
#              but its own and the constants of <stdint.h>
#   text       the declarations, token by token, after the preprocessor: sees every change, also
#              one that compiles to the same bytes; does not see macros, nor what an enum's last
#              value became in a later minor
#   macros     what each ADP_ macro is defined as, token by token
#   constants  the witness's table: every enumerator and macro by value
#   layout     where each field lies, how large it is and of what class
#   helpers    what the inline functions answer, and their types
#   contents   that nothing stands in it, in minor 0 too, which a header does not hold: a list of what it
#              may (contents.awk), of fields as rule 6 lets cross; and that who includes it gets no
#              symbol by it, and asks for none (nm); that it declares the same in C and in C++
#   shape      where structs end, which must be on 8 bytes and in a field, as hosts ask of what is handed
#              to them; that each word of an enum fits 32 bits and no two have one value
#   bodies     the inline functions, token by token: helpers cannot ask of every value. One that is
#              written otherwise and means the same is declared in tests/abi/reworded
#   binary     abidiff of two witnesses: sees what the compiler made of the declarations, whatever
#              they were written with. Its exit status must be 0: it cannot tell a lawful change from
#              another, so a lawful one must not be there in the minor that is looked at, and it
#              looks at no later one. No suppressions: one that forgives an added field forgives a
#              changed signature too. Does not see macros; takes a renamed field and an added
#              enumerator for harmless (all of abidiff 2.2)

# The dialects that a header is read in: a compiler, a language, an optimisation. A header may say
# something else in each (__clang__, __cplusplus, __OPTIMIZE__), so that looks are taken in each; what
# is compared is always of one dialect. The first is what is looked at when none is named.
gate_dialects()
{
    echo ours:c:-O0 ours:c:-O2 ours:c++:-O0 ours:c++:-O2
    if ! command -v clang >/dev/null || ! command -v clang++ >/dev/null; then return; fi
    echo clang:c:-O0 clang:c:-O2 clang:c++:-O0 clang:c++:-O2
}

gate_cc()
{
    # shellcheck disable=SC2086 # compilers are lists
    case ${gate_dialect:=ours:c:-O0} in
    ours:c:*) ${CC:-cc} "${gate_dialect##*:}" -x c -std=gnu11 "$@" ;;
    ours:c++:*) ${CXX:-c++} "${gate_dialect##*:}" -x c++ -std=gnu++20 "$@" ;;
    clang:c:*) clang "${gate_dialect##*:}" -x c -std=gnu11 "$@" ;;
    clang:c++:*) clang++ "${gate_dialect##*:}" -x c++ -std=gnu++20 "$@" ;;
    esac
}

# A look in every dialect that matches. What depends on a dialect alone is seen by the tokens and the
# helpers, in all; the witness's table is C's, whose initializers need no order. With optimisation
# both headers are looked at again only where the preprocessor makes something else of one.
gate_everywhere() # PATTERN COMMAND HEADER RELEASED MINOR
{
    gate_pattern=$1
    shift
    gate_summed=$2 gate_sum=$(cksum <"$2") gate_released=$3 gate_released_sum=$(cksum <"$3")
    for gate_dialect in $(gate_dialects); do
        # shellcheck disable=SC2254 # a pattern
        case $gate_dialect in $gate_pattern) ;; *) continue ;; esac
        if test "${gate_dialect##*:}" = -O2 && gate_reads_as "${gate_dialect%:*}:-O0" "$2" "$4" &&
            gate_reads_as "${gate_dialect%:*}:-O0" "$3" "$4"; then
            continue
        fi
        "$@" || { echo "read as $gate_dialect"; gate_dialect='' gate_summed='' gate_released=''; return 1; }
    done
    gate_dialect='' gate_summed='' gate_released=''
}

# What gate_COMMAND_asked prints of a header, by its content, in this dialect: asked once. What fails,
# or has something to say on standard error, is not remembered and asked each time.
gate_remembered() # COMMAND HEADER MINOR [MORE]
{
    case $2 in
    "${gate_summed-}") gate_memory=$gate_sum ;;
    "${gate_released-}") gate_memory=$gate_released_sum ;;
    *) gate_memory=$(cksum <"$2") ;;
    esac
    gate_memory=$claims_tmp/memory.$1.$3.${4-}.${gate_dialect:=ours:c:-O0}.$gate_memory
    if test -e "$gate_memory"; then
        cat "$gate_memory"
        return
    fi
    gate_status=0
    "gate_$1_asked" "$2" "$3" "${4-}" >"$claims_tmp/asked" 2>"$claims_tmp/asked.said" || gate_status=$?
    cat "$claims_tmp/asked"
    if test -s "$claims_tmp/asked.said"; then
        cat "$claims_tmp/asked.said" >&2
    elif test $gate_status -eq 0; then
        mv "$claims_tmp/asked" "$gate_memory"
    fi
    return $gate_status
}

# How a header reads in MINOR and each later one: a sum over all that the preprocessor makes of it,
# declarations and macros, then the later minors to look at: each that it makes something else of
# than of the one before. One run for all: between two readings, all that the header defines is
# undefined again.
gate_last=50
gate_readings_asked() # HEADER MINOR
{
    {
        printf '#include <stddef.h>\n#include <stdint.h>\n'
        sed -e ':more' -e '/\\$/{N;s/\\\n/ /;b more' -e '}' "$1" |
            sed -n 's/^[[:space:]]*#[[:space:]]*define[[:space:]]*\([A-Za-z_][A-Za-z0-9_]*\).*/\1/p' |
            sort -u |
            awk -v from="$2" -v to=$gate_last -v header="$1" '
            { undefine = undefine "#undef " $0 "\n" }
            END {
                for (k = from; k <= to; k++)
                    printf "%s#undef ADP_ABI_MINOR\n#define ADP_ABI_MINOR %d\ngate_minor %d\n#include \"%s\"\n",
                        undefine, k, k, header
            }'
    } >"$claims_tmp/minors.c"
    gate_cc -E -P -dD -w "$claims_tmp/minors.c" | sed -n '/^gate_minor /,$p' >"$claims_tmp/minors.i"
    cksum <"$claims_tmp/minors.i"
    awk -v from="$2" '
    function ended() { if (k != "" && k > from && block != before) print k; before = block; block = "" }
    /^gate_minor / { ended(); k = $2 + 0; next }
    /^#undef / || /^#define ADP_ABI_MINOR / || /^[[:space:]]*$/ { next }
    { block = block $0 "\n" }
    END { ended() }' "$claims_tmp/minors.i"
}
gate_reads_as() # DIALECT HEADER MINOR
{
    test "$(gate_remembered readings "$2" "$3" | sed 1q)" = \
        "$(gate_dialect=$1 && gate_remembered readings "$2" "$3" | sed 1q)"
}
gate_later() # HEADER MINOR
{
    gate_remembered readings "$@" | sed 1d
}

# One token a line, near enough: a word or number, or one other character. Blanks do not count.
gate_split()
{
    sed 's/[^A-Za-z0-9_]/\n&\n/g' | grep -v '^[[:space:]]*$'
}

# A header as it is written, without comments, with continued lines as one; with KEPT also what is
# between quotes.
gate_stripped() # HEADER [KEPT]
{
    awk -v kept="${2-}" '
    function literal(quote,    n) {
        if (out ~ /[A-Za-z0-9_]$/) out = out " \\ "
        if (quote == "\"") match(line, /^([^"\\]|\\.)*"/)
        else match(line, /^([^\047\\]|\\.)*\047/)
        n = RLENGTH > 0 ? RLENGTH : 0
        out = out quote (kept ? substr(line, 1, n - 1) : "") (n ? quote : " \\ ")
        line = substr(line, n + 1)
    }
    { line = before $0; before = "" }
    line ~ /\\[[:space:]]*$/ { sub(/\\[[:space:]]*$/, "", line); before = line; next }
    {
        for (out = ""; line != "";) {
            if (comment) {
                if (!(n = index(line, "*/"))) break
                comment = 0
                out = out " "
                line = substr(line, n + 2)
            } else if (!match(line, /\/[*\/]|["\047]/)) {
                out = out line
                break
            } else {
                out = out substr(line, 1, RSTART - 1)
                what = substr(line, RSTART, RLENGTH)
                line = substr(line, RSTART + RLENGTH)
                if (what == "/*") comment = 1
                else if (what == "//") break
                else literal(what)
            }
        }
        print out
    }' "$1"
}

# The minor that is not released yet.
gate_next()
{
    ls -d "$srcdir"/tests/abi/v1.* | sed 's/.*v1\.//' | sort -n | tail -n 1 | awk '{ print $1 + 1 }'
}

# Whether every directive is one of these, and nothing else names what may be defined otherwise
# elsewhere: what the compiler defines, capitals that are not the header's own, the minor. Nothing that
# is written in a way that this does not read: digraphs, trigraphs, backslashes, prefixes of literals.
gate_conditions() # HEADER RELEASED MINOR
{
    gate_stripped "$1" | awk -v next_minor="$(gate_next)" '
    function bad(why) { print why ": " $0 " (docs/abi.md, what a header holds)"; n_bad++ }
    function names(text, of,    word) {
        for (; match(text, /[A-Za-z0-9_]+/); text = substr(text, RSTART + RLENGTH)) {
            word = substr(text, RSTART, RLENGTH)
            if (word ~ /^_/ && !(word in compilers)) bad("it depends on " word ", which is the compiler\047s")
            if (word ~ /^[A-Z][A-Z0-9_]*$/ && word !~ /^ADP_/ && !is_of_c(word))
                bad("it depends on " word ", which may be a macro where it is included: capitals are ADP_")
            if (word ~ /^(linux|unix|i386)$/) bad("it depends on " word ", which the compiler may define")
            if (word == "_Static_assert" && !of) bad("C++ has no " word ", an assertion is ADP_SAME")
            if (word == "ADP_ABI_MINOR" && of != "ADP_HEAD") bad("it depends on the minor elsewhere than in #if")
        }
    }
    # Of <stddef.h> and <stdint.h>, the same in every dialect.
    function is_of_c(word) { return word == "NULL" || word ~ /^(U?INT(8|16|32|64)_(C|MAX)|INT(8|16|32|64)_MIN)$/ }
    BEGIN {
        split("_Static_assert __attribute__ __typeof__ __BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__", list, " ")
        for (i in list) compilers[list[i]]
        split("endif;else;ifdef __cplusplus;include <stddef.h>;include <stdint.h>;ifndef ADP_ABI_MINOR", list, ";")
        for (i in list) lawful[list[i]]
        guard = "ADMITPERF_POLICY_H"
    }
    /\\|\?\?|%:|<:|:>|<%|%>/ { bad("it is not written plainly") }
    !/^[[:space:]]*#/ { names($0, ""); next }
    {
        said = $0
        sub(/^[[:space:]]*#[[:space:]]*/, "", said)
        if (said !~ /^include/) gsub(/[<>=!]=|[<>]/, " & ", said)
        gsub(/[[:space:]]+/, " ", said)
        sub(/ $/, "", said)
        n++
        before = last
        last = said
    }
    n == 1 { if (said != "ifndef " guard) bad("it does not begin with its guard"); next }
    n == 2 { if (said != "define " guard) bad("it does not begin with its guard"); next }
    said in lawful { next }
    said == "define ADP_ABI_MINOR 0" && before == "ifndef ADP_ABI_MINOR" { next }
    said ~ /^(el)?if ADP_ABI_MINOR (>=|==|<) (0|[1-9][0-9]*)$/ {
        if (substr(said, match(said, /[0-9]+$/)) + 0 > next_minor) bad("a minor beyond the next, " next_minor)
        next
    }
    said ~ /^define ADP_[A-Z0-9_]+/ && said !~ /^define ADP_ABI_MINOR/ {
        match(said, /ADP_[A-Z0-9_]+/)
        name = substr(said, RSTART, RLENGTH)
        defined[name]
        names(substr(said, RSTART + RLENGTH), name)
        next
    }
    said ~ /^undef ADP_[A-Z0-9_]+$/ && substr(said, 7) in defined { next }
    { bad("no directive of a header of the ABI") }
    END {
        if (n < 10) { print "few directives found"; exit 1 }
        exit n_bad > 0
    }'
}

# "NAME TOKENS" of each inline function, one a line.
gate_functions() # HEADER
{
    gate_stripped "$1" kept | gate_split | awk '
    !inside && before == "static" && $0 == "inline" { inside = 1; text = "static"; name = ""; depth = 0 }
    inside && $0 == "(" && !name { name = before }
    inside { text = text " " $0 }
    inside && $0 == "{" { depth++ }
    inside && $0 == "}" && --depth == 0 { print name, text; inside = 0 }
    { before = $0 }'
}

# Whether each inline function is word for word what it was, or what is declared of it.
gate_reworded=$srcdir/tests/abi/reworded
gate_bodies() # HEADER RELEASED MINOR
{
    gate_functions "$1" >"$claims_tmp/today.functions"
    gate_functions "$2" >"$claims_tmp/released.functions"
    test "$(wc -l <"$claims_tmp/released.functions")" -ge 11 || { echo "few functions found"; return 1; }
    gate_status=0
    while read -r name tokens; do
        grep "^$name " "$claims_tmp/today.functions" >"$claims_tmp/same.functions" ||
            { echo "$name is gone"; gate_status=1; continue; }
        while read -r line; do
            if test "$line" = "$name $tokens"; then continue; fi
            sum=$(printf '%s\n' "$line" | cksum)
            if grep -qxF "$name $sum" "$gate_reworded"; then continue; fi
            printf '%s\n' "< $name $tokens" "> $line" \
                "not what it was; if it means the same, declare it: $name $sum"
            gate_status=1
        done <"$claims_tmp/same.functions"
    done <"$claims_tmp/released.functions"
    return $gate_status
}

# The declarations of a header: from what follows the types of C to the entry. What follows them is
# inline: of these the meaning is promised, not the words (gate_helpers).
gate_tokens() # HEADER MINOR
{
    gate_remembered tokens "$@"
}
gate_tokens_asked()
{
    printf '#include <stddef.h>\n#include <stdint.h>\ngate_begins\n#include "%s"\n' "$1" |
        gate_cc -E -P -DADP_ABI_MINOR="$2" - | gate_split |
        sed -n '/^gate_begins$/,/^admitperf_policy_v[0-9]*$/p'
}

# Whether the declarations of BEFORE stand in TODAY, in their order, each body there continued at
# most. Commas do not count: what was an enum's last word gets one when another is added.
gate_grown() # BEFORE.tokens TODAY.tokens
{
    awk '
    function ended() { n[f]++; head[f, n[f]] = h; body[f, n[f]] = b; tail[f, n[f]] = t; h = b = t = "" }
    FNR == 1 { f++; depth = closed = 0; next }
    $0 == "," { next }
    # What extern "C" { opens in C++ is no body.
    $0 == "{" && depth == 0 && h ~ /^extern " C " $/ { h = ""; next }
    $0 == "}" { depth--; closed = depth == 0 }
    depth > 0 { b = b $0 " " }
    depth == 0 && closed { t = t $0 " " }
    depth == 0 && !closed { h = h $0 " " }
    $0 == "{" { depth++ }
    $0 == ";" && depth == 0 { ended(); closed = 0 }
    /^admitperf_policy_v[0-9]*$/ { ended() }
    END {
        for (i = 1; i <= n[1]; i++) {
            for (j++; j <= n[2] && (head[1, i] != head[2, j] || tail[1, i] != tail[2, j]);) j++
            if (j > n[2]) { print "gone, changed or moved: " head[1, i] tail[1, i]; exit 1 }
            if (head[1, i] ~ /{/ ? index(body[2, j], body[1, i]) != 1 : body[1, i] != body[2, j]) {
                print "changed inside: " head[1, i]; print "< " body[1, i]; print "> " body[2, j]; exit 1
            }
        }
    }' "$1" "$2"
}

gate_text() # HEADER RELEASED MINOR
{
    gate_everywhere '*' gate_text_here "$@"
}
gate_text_here() # HEADER RELEASED MINOR
{
    gate_tokens "$1" "$3" | grep -v '^,$' >"$claims_tmp/today.tokens"
    gate_tokens "$2" "$3" | grep -v '^,$' >"$claims_tmp/released.tokens"
    test "$(wc -l <"$claims_tmp/released.tokens")" -gt 200 || { echo "no declarations found"; return 1; }
    diff "$claims_tmp/released.tokens" "$claims_tmp/today.tokens" || return
    for k in $(gate_later "$1" "$3"); do
        gate_tokens "$1" "$k" >"$claims_tmp/later.tokens"
        gate_grown "$claims_tmp/today.tokens" "$claims_tmp/later.tokens" || { echo "in minor $k"; return 1; }
        mv "$claims_tmp/later.tokens" "$claims_tmp/today.tokens"
    done
}

# Each macro on a line, in tokens.
gate_defined() # HEADER MINOR
{
    gate_remembered defined "$@"
}
gate_defined_asked()
{
    gate_cc -E -dM -DADP_ABI_MINOR="$2" "$1" | grep '^#define ADP_' | LC_ALL=C sort |
        sed 's/[^A-Za-z0-9_]/ & /g; s/[[:space:]][[:space:]]*/ /g; s/^ # define //; s/ $//'
}

gate_macros() # HEADER RELEASED MINOR
{
    gate_everywhere '*' gate_macros_here "$@"
}
gate_macros_here() # HEADER RELEASED MINOR
{
    gate_defined "$1" "$3" >"$claims_tmp/today.macros"
    gate_defined "$2" "$3" >"$claims_tmp/released.macros"
    grep -q '^ADP_HEAD ' "$claims_tmp/released.macros" || { echo "no macros found"; return 1; }
    diff "$claims_tmp/released.macros" "$claims_tmp/today.macros" || return
    for k in $(gate_later "$1" "$3"); do
        mv "$claims_tmp/today.macros" "$claims_tmp/before.macros"
        gate_defined "$1" "$k" >"$claims_tmp/today.macros"
        gate_defined "$2" "$k" >"$claims_tmp/released.macros"
        # What the minor before says of itself is another number here.
        sed -i '/^ADP_ABI_MINOR /d' "$claims_tmp/before.macros"
        for of in released before; do
            gate_kept "$claims_tmp/today.macros" "$claims_tmp/$of.macros" || { echo "in minor $k, of $of"; return 1; }
        done
    done
}
# Whether what was defined is so today. ADP_HEAD may fill more, after what it filled.
gate_kept() # TODAY.macros BEFORE.macros
{
    awk '
    NR == FNR { today[$1] = $0; next }
    today[$1] == $0 { next }
    $1 == "ADP_HEAD" && index(today[$1], $0 " , . ") == 1 { next }
    { print "< " $0; print "> " today[$1]; bad = 1 }
    END { exit bad }' "$1" "$2"
}

# What the witness of a header, compiled as MINOR, says of what minor AS had.
gate_table() # HEADER MINOR AS
{
    gate_remembered table "$@"
}
gate_table_asked()
{
    gate_cc -DWITNESS_MAIN -DADP_ABI_MINOR="$2" -DWITNESS_MINOR="$3" \
        -DPOLICY_HEADER="\"$1\"" -o "$claims_tmp/table" "$srcdir/tests/abi/witness.c" &&
        "$claims_tmp/table"
}

gate_constants() # HEADER RELEASED MINOR
{
    gate_everywhere '*:c:-O0' gate_constants_here "$@"
}
gate_constants_here() # HEADER RELEASED MINOR
{
    # The last one too: what ADP_HEAD says of the minor is another number in each.
    for k in "$3" $(gate_later "$1" "$3") $gate_last; do
        gate_table "$1" "$k" "$3" >"$claims_tmp/today.table" || return
        gate_table "$2" "$k" "$3" >"$claims_tmp/released.table" || return
        diff "$claims_tmp/released.table" "$claims_tmp/today.table" || { echo "in minor $k"; return 1; }
    done
}

# "STRUCT FIELD", one a line, in their order.
gate_fields() # TOKENS
{
    awk '
    # An attribute is no field; that none is there is asked of the contents.
    $0 == "__attribute__" { attribute = 1; next }
    attribute { open += ($0 == "(") - ($0 == ")"); attribute = open > 0; next }
    $0 == "{" && before ~ /^adp_/ && kind == "struct" { inside = before; word = "" }
    $0 == "}" { inside = "" }
    { kind = before; before = $0 }
    !inside || $0 == "{" { next }
    $0 == "(" { depth++ }
    $0 == ")" { if (depth == 1 && pointer) { named = pointer; pointer = "" } depth-- }
    # (*name)(...): the word in the first parentheses is the field
    depth == 1 && /^[a-z_]/ && !named { pointer = $0 }
    depth == 0 && /^[a-z_]/ { word = $0 }
    depth == 0 && ($0 == ";" || $0 == ",") { print inside, named ? named : word; named = pointer = "" }
    ' "$1"
}

# Where each of those fields lies, how large it is and of what class.
gate_places() # HEADER MINOR FIELDS
{
    gate_remembered places "$1" "$2" "$(cksum <"$3")"
}
gate_places_asked() # of $claims_tmp/fields
{
    {
        printf '#include <stdio.h>\n#include "%s"\nint main(void)\n{\n' "$1"
        awk '{
            of = "((" $1 " *)0)->" $2
            printf "printf(\"%s %s %%zu %%zu %%d %%zu\\n\", offsetof(%s, %s), sizeof(%s), " \
                "__builtin_classify_type(%s), __alignof__(%s));\n", $1, $2, $1, $2, of, of, $1 }' "$claims_tmp/fields"
        echo 'return 0; }'
    } >"$claims_tmp/places.c"
    gate_cc -w -DADP_ABI_MINOR="$2" -o "$claims_tmp/places" "$claims_tmp/places.c" \
        2>"$claims_tmp/places.said" || {
        # That a field is not there is a finding, no error.
        sed 's/error: \(.*no member named\)/\1/' "$claims_tmp/places.said"
        return 1
    }
    "$claims_tmp/places"
}

gate_layout() # HEADER RELEASED MINOR
{
    gate_everywhere '*:-O0' gate_layout_here "$@"
}
gate_layout_here() # HEADER RELEASED MINOR
{
    gate_tokens "$2" "$3" >"$claims_tmp/released.tokens"
    gate_fields "$claims_tmp/released.tokens" >"$claims_tmp/fields"
    test "$(wc -l <"$claims_tmp/fields")" -gt 80 || { echo "few fields found"; return 1; }
    gate_places "$2" "$3" "$claims_tmp/fields" >"$claims_tmp/released.places" || { cat "$claims_tmp/released.places"; return 1; }
    for k in "$3" $(gate_later "$1" "$3"); do
        gate_places "$1" "$k" "$claims_tmp/fields" >"$claims_tmp/today.places" ||
            { cat "$claims_tmp/today.places"; echo "in minor $k"; return 1; }
        diff "$claims_tmp/released.places" "$claims_tmp/today.places" || { echo "in minor $k"; return 1; }
    done
}

# "ENUM WORD", one a line.
gate_enums() # TOKENS
{
    awk '
    $0 == "{" && before ~ /^adp_/ && kind == "enum" { inside = before }
    $0 == "}" { inside = "" }
    inside && /^ADP_/ && (before == "{" || before == ",") { print inside, $0 }
    { kind = before; before = $0 }' "$1"
}

# Whether a header holds what a header may (contents.awk), in each minor, and asks nothing of others when
# all of its functions are used; whether it declares in C++ what it does in C, and whether the functions
# of each minor are there in the next.
gate_contents() # HEADER RELEASED MINOR
{
    gate_everywhere 'ours:*:-O0' gate_contents_here "$@"
}
gate_contents_here() # HEADER RELEASED MINOR
{
    : >"$claims_tmp/before.contents"
    # Where it reads anew in C alone, too.
    for k in "$3" $( (gate_later "$1" "$3" && gate_dialect=ours:c:-O0 && gate_later "$1" "$3") | sort -nu); do
        gate_remembered contents "$1" "$k" >"$claims_tmp/today.contents" ||
            { cat "$claims_tmp/today.contents"; echo "in minor $k"; return 1; }
        (gate_dialect=ours:c:-O0 && gate_remembered contents "$1" "$k") >"$claims_tmp/in_c.contents"
        if test "$(sed 1q "$claims_tmp/in_c.contents")" != "$(sed 1q "$claims_tmp/today.contents")"; then
            echo "in minor $k it declares something else than in C"
            return 1
        fi
        sed -i 1d "$claims_tmp/today.contents"
        if grep -vxFf "$claims_tmp/today.contents" "$claims_tmp/before.contents"; then
            echo "not any more in minor $k"
            return 1
        fi
        mv "$claims_tmp/today.contents" "$claims_tmp/before.contents"
    done
}
gate_contents_asked() # prints a sum of all that is declared, then the inline functions: NAME HEAD
{
    # The header's own lines: clang's types of C++ are declared anew each time that it asks for them.
    printf '#include "%s"\n' "$1" | gate_cc -E -DADP_ABI_MINOR="$2" - | awk -v own="\"$1\"" '
        /^# [0-9]+ "/ { is_own = index($0, own) > 0; next }
        is_own' | gate_split >"$claims_tmp/contents.tokens"
    awk -v functions="$claims_tmp/contents.functions" -v declarations="$claims_tmp/contents.declared" -f "$srcdir/tests/abi/contents.awk" \
        "$claims_tmp/contents.tokens" || return
    {
        printf '#include "%s"\n#ifdef __cplusplus\nextern "C"\n#endif\nvoid gate_uses(void **);\n' "$1"
        echo 'void gate_uses(void **to) {'
        awk '{ print "*to++ = (void *)" $1 ";" }' "$claims_tmp/contents.functions"
        echo '}'
    } >"$claims_tmp/contents.c"
    gate_cc -w -fno-stack-protector -DADP_ABI_MINOR="$2" -c -o "$claims_tmp/contents.o" "$claims_tmp/contents.c" ||
        return
    "${NM:-nm}" -P "$claims_tmp/contents.o" | awk '
        $1 == "gate_uses" && $2 == "T" { used = 1; next }
        $2 == "t" { functions++; next }
        # A literal: clang names it.
        $1 ~ /^\.L/ && $2 == "r" { next }
        { print "who includes the header has " $1 " (" $2 " to nm): it asks nothing and keeps nothing " \
            "(docs/abi.md, rules 7 and 8)"; bad = 1 }
        END {
            if (!used || functions < 11) { print "few functions found"; exit 1 }
            exit bad
        }' || return
    cksum <"$claims_tmp/contents.declared"
    cat "$claims_tmp/contents.functions"
}

# Whether each struct ends on 8 bytes, in a field, and each word of an enum is a number of 32 bits, no
# other's; where they are bits, each is one.
gate_shape() # HEADER RELEASED MINOR
{
    gate_everywhere '*:c:-O0' gate_shape_here "$@"
}
gate_shape_here() # HEADER RELEASED MINOR
{
    for k in "$3" $(gate_later "$1" "$3"); do
        gate_remembered shape "$1" "$k" || { echo "in minor $k"; return 1; }
    done
}
gate_shape_asked()
{
    # Not through the memory: what is asked there is this.
    gate_tokens_asked "$1" "$2" >"$claims_tmp/shape.tokens"
    {
        printf '#include <stdio.h>\n#include "%s"\nint main(void)\n{\n' "$1"
        gate_fields "$claims_tmp/shape.tokens" | awk '{
            printf "printf(\"field %s %%zu %%zu\\n\", sizeof(struct %s), offsetof(struct %s, %s) + " \
                "sizeof(((struct %s *)0)->%s));\n", $1, $1, $1, $2, $1, $2 }'
        gate_enums "$claims_tmp/shape.tokens" |
            awk '{ printf "printf(\"word %s %s %%lld\\n\", (long long)%s);\n", $1, $2, $2 }'
        echo 'return 0; }'
    } >"$claims_tmp/shape.c"
    gate_cc -w -DADP_ABI_MINOR="$2" -o "$claims_tmp/shape" "$claims_tmp/shape.c" || return
    "$claims_tmp/shape" | awk '
    function bad(why) { print why; n_bad++ }
    $1 == "field" { size[$2] = $3 + 0; if ($4 + 0 > end[$2]) end[$2] = $4 + 0 }
    $1 == "word" {
        words++
        if (($2, $4) in by) bad($3 " of enum " $2 " has the value of " by[$2, $4])
        by[$2, $4] = $3
        if ($4 < 0 || $4 > 4294967295) bad($3 " of enum " $2 " does not fit 32 bits without a sign")
        if ($2 ~ /_flag$|^adp_(set|fact|measured)$/) {
            for (bit = 1; bit < $4; bit *= 2);
            if (bit != $4) bad($3 " of enum " $2 " is no bit")
        }
    }
    END {
        for (name in size) {
            structs++
            if (size[name] % 8) bad(name " is " size[name] " bytes, no multiple of 8")
            if (size[name] != end[name]) bad(name " is " size[name] " bytes, its last field ends at " end[name])
        }
        if (structs < 10 || words < 40) bad("few structs or words found")
        exit n_bad > 0
    }'
}

# What follows the declarations, but for assertions, in a word.
gate_inline() # HEADER MINOR
{
    gate_cc -E -P -DADP_ABI_MINOR="$2" "$1" | gate_split | awk '
        /^(_Static|static)_assert$/ { skip = 1 }
        after && !skip
        $0 == ";" { skip = 0 }
        /^admitperf_policy_v[0-9]*$/ { after = 1 }' | cksum
}

# What the inline functions answer, and their types. Words that have answered once, for a compiler
# and a language, are not asked again in another minor or with optimisation.
gate_helpers() # HEADER RELEASED MINOR
{
    : >"$claims_tmp/answered"
    gate_everywhere '*' gate_helpers_here "$@"
}
gate_helpers_here() # HEADER RELEASED MINOR
{
    for k in "$3" $(gate_later "$1" "$3"); do
        gate_words="${gate_dialect%:*} $(gate_inline "$1" "$k")"
        if grep -qxF "$gate_words" "$claims_tmp/answered"; then continue; fi
        echo "$gate_words" >>"$claims_tmp/answered"
        gate_cc -w -Werror=incompatible-pointer-types -DADP_ABI_MINOR="$k" -DWITNESS_MINOR="$3" \
            -DPOLICY_HEADER="\"$1\"" -o "$claims_tmp/helpers" "$srcdir/tests/abi/helpers.c" -lm \
            2>"$claims_tmp/helpers.said" || {
            # That a function is not there, or of another type, is a finding, no error.
            sed 's/error: \(.*\(incompatible\|undeclared\|not declared\|cannot initialize\|conversion\)\)/\1/' \
                "$claims_tmp/helpers.said"
            echo "in minor $k"
            return 1
        }
        "$claims_tmp/helpers" || { echo "in minor $k"; return 1; }
    done
}

gate_witness() # HEADER MINOR OUTPUT
{
    gate_cc -std=c11 -g -O0 -fPIC -shared -fvisibility=hidden -DADP_ABI_MINOR="$2" \
        -DPOLICY_HEADER="\"$1\"" -o "$3" "$srcdir/tests/abi/witness.c"
}

gate_binary() # HEADER RELEASED MINOR
{
    gate_witness "$1" "$3" "$claims_tmp/today.so" &&
        gate_witness "$2" "$3" "$claims_tmp/released.so" &&
        abidiff "$claims_tmp/released.so" "$claims_tmp/today.so"
}
