#!/bin/sh
# SPDX-License-Identifier: MIT
# What is installed suffices to write a policy: `make install DESTDIR=` into a folder of
# its own, then examples/kv_wall is built against that alone, exports one name, and loads.
set -u
root=$(cd . && pwd) || exit 1
source=$(cd "${srcdir:-.}" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
dest=$work/dest
unset MAKEFLAGS MFLAGS MAKELEVEL

fail() {
    echo "failed: $*"
    exit 1
}

# The names a shared object exports, one a line.
exported() {
    nm -D --defined-only "$1" | awk '{ print $3 }'
}

${MAKE:-make} -C "$root" install DESTDIR="$dest" >"$work/install.log" 2>&1 ||
    { cat "$work/install.log"; fail "make install"; }

pc=$(find "$dest" -name admitperf-policy.pc)
test -n "$pc" || fail "admitperf-policy.pc is not installed"
for policy in dual_gate kv_threshold no_admission queue_depth; do
    so=$(find "$dest" -path "*/admitperf/policies/$policy.so")
    test -n "$so" || fail "$policy.so is not installed"
    names=$(exported "$so")
    test "$names" = admitperf_policy_v0 || fail "$policy.so exports: $names"
done
found=$(find "$dest" -name '*.la')
test -z "$found" || fail "libtool's files are installed: $found"

mkdir "$work/kv_wall" || exit 1
cp "$source"/examples/kv_wall/* "$work/kv_wall" || exit 1
PKG_CONFIG_PATH=$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$dest
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
${MAKE:-make} -C "$work/kv_wall" CFLAGS='-O2 -Wall -Wextra -Wconversion -Werror' \
    >"$work/build.log" 2>&1 || { cat "$work/build.log"; fail "building kv_wall"; }
cat "$work/build.log"
so=$work/kv_wall/kv_wall.so
names=$(exported "$so")
test "$names" = admitperf_policy_v0 || fail "kv_wall.so exports: $names"

# A function that is not static does not get out either.
printf 'int clamp_rate(void);\nint clamp_rate(void)\n{\n    return 1;\n}\n' >>"$work/kv_wall/kv_wall.c"
${MAKE:-make} -C "$work/kv_wall" >"$work/build.log" 2>&1 ||
    { cat "$work/build.log"; fail "building kv_wall with a function more"; }
names=$(exported "$so")
test "$names" = admitperf_policy_v0 || fail "a function got out: $names"

# A function that nobody defines is found when it is linked.
printf 'int nobody(void);\nint clamp(void);\nint clamp(void)\n{\n    return nobody();\n}\n' >>"$work/kv_wall/kv_wall.c"
if ${MAKE:-make} -C "$work/kv_wall" >"$work/build.log" 2>&1; then
    fail "kv_wall links with an undefined function"
fi

cp "$source/examples/kv_wall/kv_wall.c" "$work/kv_wall" || exit 1
${MAKE:-make} -C "$work/kv_wall" >"$work/build.log" 2>&1 || fail "building kv_wall again"
name=$("$root/tests/sdk/load_policy" "$so") || fail "kv_wall.so does not load"
test "$name" = kv_wall || fail "kv_wall.so names itself $name"

lines=$(wc -l <"$source/examples/kv_wall/kv_wall.c")
test "$lines" -le 45 || fail "kv_wall.c has $lines lines; the smallest policy is about 30"

${MAKE:-make} -C "$root" uninstall DESTDIR="$dest" >"$work/install.log" 2>&1 ||
    { cat "$work/install.log"; fail "make uninstall"; }
left=$(find "$dest" ! -type d)
test -z "$left" || fail "make uninstall leaves: $left"
echo "passed"
