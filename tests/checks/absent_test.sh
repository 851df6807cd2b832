#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# At level 0 the internal checks are not there: every source of libspool compiles to the same
# object with the checks cut out of its text, headers included.
#   absent_test.sh <root of the tree> <generated headers> <compiler>
set -u
here=$(cd "$(dirname "$0")" && pwd)
generated=$2
compiler=$3
cd "$1" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# Two trees of the same shape, so that no path tells the objects apart.
mkdir -p "$scratch/kept" "$scratch/cut"
cp -r sdk include "$scratch/kept/"
cp -r sdk include "$scratch/cut/"
found=0
find sdk -name '*.[ch]' >"$scratch/files"
while read -r file; do
    case $file in sdk/platform/check.[ch]) continue ;; esac
    if grep -q 'SP_CHECK\(_SLOW\)\{0,1\}(' "$file"; then
        found=$((found + $(awk -v mode=list -f "$here/checks.awk" "$file" | wc -l)))
        awk -v mode=cut -f "$here/checks.awk" "$file" >"$scratch/cut/$file"
    fi
done <"$scratch/files"

# compile <tree> <level> <source> <object>
compile() {
    (cd "$scratch/$1" && "$compiler" -std=c11 -O2 -fPIC -fvisibility=hidden -D_GNU_SOURCE "-DSP_CHECKS=$2" \
        -I. -Iinclude "-I$generated" -c "$3" -o "$4")
}

passed=0
failed=0
differ_at_one=0
for file in $(find sdk -name '*.c' | LC_ALL=C sort); do
    if ! compile kept 0 "$file" "$scratch/kept.o" || ! compile cut 0 "$file" "$scratch/cut.o"; then
        failed=$((failed + 1))
        continue
    fi
    if cmp -s "$scratch/kept.o" "$scratch/cut.o"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "absent: $file is another object without its checks"
    fi
done

# The comparison can fail: at level 1 the same two trees differ.
for file in sdk/memory/registry.c sdk/memory/thread_block.c; do
    compile kept 1 "$file" "$scratch/kept.o" && compile cut 1 "$file" "$scratch/cut.o" &&
        ! cmp -s "$scratch/kept.o" "$scratch/cut.o" && differ_at_one=$((differ_at_one + 1))
done
if [ "$found" -ge 10 ] && [ "$differ_at_one" = 2 ]; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "absent: $found checks cut, $differ_at_one of 2 objects differ at level 1"
fi
echo "checks.absent: $passed passed, $failed failed"
[ "$failed" = 0 ]
