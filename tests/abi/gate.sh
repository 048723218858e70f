# SPDX-License-Identifier: MIT
# Whether a policy header, compiled as a released minor, is still the header that was released.
# To be sourced after tests/claims.sh.
#
#     gate HEADER RELEASED MINOR      all of it; says what differs
#
# Three looks, which have different blind spots:
#   text       the declarations, token by token, after the preprocessor: sees every change, also
#              one that compiles to the same bytes; does not see macros
#   constants  the witness's table: every enumerator and macro by value
#   binary     abidiff of two witnesses: sees what the compiler made of the declarations, whatever
#              they were written with. Its exit status must be 0: it cannot tell a lawful change from
#              another, so a lawful one must not be there in the minor that is looked at. No
#              suppressions: one that forgives an added field forgives a changed signature too.
#              Does not see macros; takes a renamed field and an added enumerator for harmless
#              (all of abidiff 2.2)
gate_cc()
{
    # shellcheck disable=SC2086 # compilers are lists
    ${CC:-cc} "$@"
}

# The declarations of a header, one token a line: from the first of ours to the entry's. What follows
# them is inline, and a policy keeps what it was compiled with. Commas do not count: what was an
# enum's last word gets one when another is added.
gate_tokens() # HEADER MINOR
{
    gate_cc -E -P -DADP_ABI_MINOR="$2" "$1" | tr -s ',[:space:]' '\n' |
        sed -n '/^adp_action$/,/^admitperf_policy_v[0-9]*;$/p'
}

gate_text() # HEADER RELEASED MINOR
{
    gate_tokens "$1" "$3" >"$claims_tmp/today.tokens"
    gate_tokens "$2" "$3" >"$claims_tmp/released.tokens"
    test "$(wc -l <"$claims_tmp/released.tokens")" -gt 200 || { echo "no declarations found"; return 1; }
    diff "$claims_tmp/released.tokens" "$claims_tmp/today.tokens"
}

gate_table() # HEADER MINOR OUTPUT
{
    gate_cc -std=c11 -DWITNESS_MAIN -DADP_ABI_MINOR="$2" -DPOLICY_HEADER="\"$1\"" \
        -o "$claims_tmp/table" "$srcdir/tests/abi/witness.c" && "$claims_tmp/table" >"$3"
}

gate_constants() # HEADER RELEASED MINOR
{
    gate_table "$1" "$3" "$claims_tmp/today.table" &&
        gate_table "$2" "$3" "$claims_tmp/released.table" &&
        diff "$claims_tmp/released.table" "$claims_tmp/today.table"
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
