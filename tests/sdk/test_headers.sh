#!/bin/sh
# SPDX-License-Identifier: MIT
# Every public header, alone, as C11 and C++17, with each compiler there is: no warning.
set -u
include=${srcdir:-.}/sdk/include
flags="-Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror -fsyntax-only"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
ran=0 failed=0

try() { # NAME COMPILER ARGUMENT...
    name=$1
    shift
    if ! command -v "$1" >/dev/null 2>&1; then
        echo "skipped: $name: there is no $1"
        return
    fi
    ran=$((ran + 1))
    if "$@" >"$work/out" 2>&1; then
        echo "passed: $name"
    else
        echo "failed: $name: $*"
        cat "$work/out"
        failed=$((failed + 1))
    fi
}

for header in "$include"/admitperf/*.h; do
    base=$(basename "$header")
    printf '#include <admitperf/%s>\n' "$base" >"$work/alone.c"
    cp "$work/alone.c" "$work/alone.cc"
    for compiler in gcc clang; do
        try "$base $compiler C11" $compiler -std=c11 $flags -I"$include" "$work/alone.c"
    done
    for compiler in g++ clang++; do
        try "$base $compiler C++17" $compiler -std=c++17 $flags -I"$include" "$work/alone.cc"
    done
done

# Where pointers have 32 bits, or the high byte comes first, the header says so.
printf '#include <admitperf/policy.h>\n' >"$work/alone.c"
refuse() { # NAME COMPILER ARGUMENT...
    name=$1
    shift
    if ! command -v "$1" >/dev/null 2>&1; then
        echo "skipped: $name: there is no $1"
        return
    fi
    ran=$((ran + 1))
    if "$@" -ffreestanding -fsyntax-only -I"$include" "$work/alone.c" >"$work/out" 2>&1 ||
        ! grep -q 'static.*assert.*failed' "$work/out"; then
        echo "failed: $name: compiles, or fails for another reason"
        cat "$work/out"
        failed=$((failed + 1))
    else
        echo "passed: $name"
    fi
}
refuse "policy.h is refused for 32 bits" gcc -m32
refuse "policy.h is refused for big-endian" clang --target=s390x-linux-gnu

# A policy in C++17, as a C++ author writes one: no designated initialisers needed.
cat >"$work/policy.cc" <<'CC'
#include <admitperf/policy.h>

static void decide(void *, const adp_view *v, adp_verdict *w)
{
    if (adp_has(v, 0) && v->signal[0] > 0.5)
        adp_reject(w, ADP_R_KV_PRESSURE, 0);
    else
        adp_admit(w);
}

static const adp_signal signals[] = { { "kv_pressure", "ratio", 0, 0 } };

static constexpr adp_policy make()
{
    adp_policy p{};
    p.magic = ADP_MAGIC;
    p.size = sizeof(adp_policy);
    p.signal_size = sizeof(adp_signal);
    p.param_size = sizeof(adp_param);
    p.gate_size = sizeof(adp_gate);
    p.card_size = sizeof(adp_card);
    p.n_signals = 1;
    p.signals = signals;
    p.name = "cpp";
    p.decide = decide;
    return p;
}

const adp_policy admitperf_policy_v0 = make();
CC
for compiler in g++ clang++; do
    try "a policy, $compiler C++17" $compiler -std=c++17 $flags -I"$include" "$work/policy.cc"
done

echo "$ran compiled, $failed failed"
test "$ran" -gt 0 && test "$failed" -eq 0
