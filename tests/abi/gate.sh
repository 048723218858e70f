# SPDX-License-Identifier: MIT
# Whether a policy header, compiled as a released minor, is still the header that was released.
# To be sourced after tests/claims.sh.
#
#     gate HEADER RELEASED MINOR      all of it; says what differs
#
# Each look is taken at the released minor, where the header must be the same, and at later ones
# (gate_later), where it may have grown: struct bodies and enums at their end, and by names that were
# not there. Five looks, which have different blind spots:
#   text       the declarations, token by token, after the preprocessor: sees every change, also
#              one that compiles to the same bytes; does not see macros, nor what an enum's last
#              value became in a later minor
#   macros     what each ADP_ macro is defined as, token by token
#   constants  the witness's table: every enumerator and macro by value
#   layout     where each field lies, how large it is and of what class
#   binary     abidiff of two witnesses: sees what the compiler made of the declarations, whatever
#              they were written with. Its exit status must be 0: it cannot tell a lawful change from
#              another, so a lawful one must not be there in the minor that is looked at, and it
#              looks at no later one. No suppressions: one that forgives an added field forgives a
#              changed signature too. Does not see macros; takes a renamed field and an added
#              enumerator for harmless (all of abidiff 2.2)
gate_cc()
{
    # shellcheck disable=SC2086 # compilers are lists
    ${CC:-cc} "$@"
}

# The later minors to look at: those that the header's conditions name, the next after each (for
# `> k`), and one well beyond.
gate_later() # HEADER MINOR
{
    {
        sed -n 's/^ *# *\(el\)\{0,1\}if\(.*ADP_ABI_MINOR.*\)/\2/p' "$1" | grep -oE '[0-9]+' |
            while read -r k; do printf '%s\n%s\n' "$k" "$((k + 1))"; done
        echo 99
    } | awk -v minor="$2" '$1 > minor' | sort -nu
}

# One token a line, near enough: a word or number, or one other character. Blanks do not count.
gate_split()
{
    sed 's/[^A-Za-z0-9_]/\n&\n/g' | grep -v '^[[:space:]]*$'
}

# The declarations of a header: from the first of ours to the entry's. What follows them is inline,
# and a policy keeps what it was compiled with.
gate_tokens() # HEADER MINOR
{
    gate_cc -E -P -DADP_ABI_MINOR="$2" "$1" | gate_split |
        sed -n '/^adp_action$/,/^admitperf_policy_v[0-9]*$/p'
}

# Whether the declarations of RELEASED stand in TODAY, in their order, each body there continued at
# most. Commas do not count: what was an enum's last word gets one when another is added.
gate_grown() # RELEASED.tokens TODAY.tokens
{
    awk '
    function ended() { n[f]++; head[f, n[f]] = h; body[f, n[f]] = b; tail[f, n[f]] = t; h = b = t = "" }
    FNR == 1 { f++ }
    $0 == "," { next }
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
    gate_tokens "$1" "$3" | grep -v '^,$' >"$claims_tmp/today.tokens"
    gate_tokens "$2" "$3" | grep -v '^,$' >"$claims_tmp/released.tokens"
    test "$(wc -l <"$claims_tmp/released.tokens")" -gt 200 || { echo "no declarations found"; return 1; }
    diff "$claims_tmp/released.tokens" "$claims_tmp/today.tokens" || return
    for k in $(gate_later "$1" "$3"); do
        gate_tokens "$1" "$k" >"$claims_tmp/today.tokens"
        gate_grown "$claims_tmp/released.tokens" "$claims_tmp/today.tokens" || { echo "in minor $k"; return 1; }
    done
}

# Each macro on a line, in tokens.
gate_defined() # HEADER MINOR
{
    gate_cc -E -dM -DADP_ABI_MINOR="$2" "$1" | grep '^#define ADP_' | LC_ALL=C sort |
        sed 's/[^A-Za-z0-9_]/ & /g; s/[[:space:]][[:space:]]*/ /g; s/^ # define //; s/ $//'
}

gate_macros() # HEADER RELEASED MINOR
{
    gate_defined "$1" "$3" >"$claims_tmp/today.macros"
    gate_defined "$2" "$3" >"$claims_tmp/released.macros"
    grep -q '^ADP_HEAD ' "$claims_tmp/released.macros" || { echo "no macros found"; return 1; }
    diff "$claims_tmp/released.macros" "$claims_tmp/today.macros" || return
    for k in $(gate_later "$1" "$3"); do
        gate_defined "$1" "$k" >"$claims_tmp/today.macros"
        gate_defined "$2" "$k" >"$claims_tmp/released.macros"
        # ADP_HEAD may fill more, after what it filled.
        awk -v minor="$k" '
        NR == FNR { today[$1] = $0; next }
        today[$1] == $0 { next }
        $1 == "ADP_HEAD" && index(today[$1], $0 " , . ") == 1 { next }
        { print "in minor " minor; print "< " $0; print "> " today[$1]; bad = 1 }
        END { exit bad }' "$claims_tmp/today.macros" "$claims_tmp/released.macros" || return
    done
}

# What the witness of a header, compiled as MINOR, says of what minor AS had.
gate_table() # HEADER MINOR OUTPUT [AS]
{
    gate_cc -std=gnu11 -DWITNESS_MAIN -DADP_ABI_MINOR="$2" -DWITNESS_MINOR="${4:-$2}" \
        -DPOLICY_HEADER="\"$1\"" -o "$claims_tmp/table" "$srcdir/tests/abi/witness.c" &&
        "$claims_tmp/table" >"$3"
}

gate_constants() # HEADER RELEASED MINOR
{
    for k in "$3" $(gate_later "$1" "$3"); do
        gate_table "$1" "$k" "$claims_tmp/today.table" "$3" || return
        gate_table "$2" "$k" "$claims_tmp/released.table" "$3" || return
        diff "$claims_tmp/released.table" "$claims_tmp/today.table" || { echo "in minor $k"; return 1; }
    done
}

# "STRUCT FIELD", one a line, in their order.
gate_fields() # TOKENS
{
    awk '
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

gate_places() # HEADER MINOR FIELDS OUTPUT
{
    {
        printf '#include <stdio.h>\n#include "%s"\nint main(void)\n{\n' "$1"
        awk '{
            of = "((" $1 " *)0)->" $2
            printf "printf(\"%s %s %%zu %%zu %%d %%zu\\n\", offsetof(%s, %s), sizeof(%s), " \
                "__builtin_classify_type(%s), _Alignof(%s));\n", $1, $2, $1, $2, of, of, $1 }' "$3"
        echo 'return 0; }'
    } >"$claims_tmp/places.c"
    gate_cc -std=gnu11 -w -DADP_ABI_MINOR="$2" -o "$claims_tmp/places" "$claims_tmp/places.c" \
        2>"$claims_tmp/places.said" || {
        # That a field is not there is a finding, no error.
        sed 's/error: \(.*no member named\)/\1/' "$claims_tmp/places.said"
        return 1
    }
    "$claims_tmp/places" >"$4"
}

gate_layout() # HEADER RELEASED MINOR
{
    gate_tokens "$2" "$3" >"$claims_tmp/released.tokens"
    gate_fields "$claims_tmp/released.tokens" >"$claims_tmp/fields"
    test "$(wc -l <"$claims_tmp/fields")" -gt 80 || { echo "few fields found"; return 1; }
    gate_places "$2" "$3" "$claims_tmp/fields" "$claims_tmp/released.places" || return
    for k in "$3" $(gate_later "$1" "$3"); do
        gate_places "$1" "$k" "$claims_tmp/fields" "$claims_tmp/today.places" || { echo "in minor $k"; return 1; }
        diff "$claims_tmp/released.places" "$claims_tmp/today.places" || { echo "in minor $k"; return 1; }
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
