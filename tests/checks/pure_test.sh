#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Internal checks have no effects: no assignment, increment or call of a function that is not
# known to change nothing. First the check is checked.
#   pure_test.sh <root of the tree>
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$1" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

pure='sizeof word_of head_of sp_slot_state sp_index_alloc_is_consistent SP_LIST_TAG_IS at sp_load_relaxed sp_load_acquire'

# impure: of lines "<place>:<expression>", those that may have an effect.
impure() {
    awk -v pure="$pure" '
        BEGIN { split(pure, names, " "); for (i in names) is_pure[names[i]] = 1 }
        {
            rest = $0
            sub(/^[^:]*:([0-9]+:)?/, "", rest)
            bad = rest ~ /\+\+|--/
            plain = rest
            gsub(/==|!=|<=|>=/, "~", plain)
            bad = bad || plain ~ /=/
            while (match(plain, /[A-Za-z_][A-Za-z0-9_]*[ ]*\(/)) {
                name = substr(plain, RSTART, RLENGTH)
                sub(/[ ]*\($/, "", name)
                bad = bad || !(name in is_pure)
                plain = substr(plain, RSTART + RLENGTH)
            }
            if (bad) print
        }'
}

passed=0
failed=0
expect() {
    printf '%s\n' "    $2;" >"$scratch/one.c"
    found=$(awk -v mode=list -f "$here/checks.awk" "$scratch/one.c" | impure)
    verdict=pure
    [ -z "$found" ] || verdict=impure
    if [ "$verdict" = "$1" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "pure: '$2' is called $verdict"
    fi
}
expect pure 'SP_CHECK(a == b && c <= d || e != (f))'
expect pure 'SP_CHECK_SLOW(sp_slot_state(slot) == 3)'
expect impure 'SP_CHECK(a = b)'
expect impure 'SP_CHECK(left -= 3)'
expect impure 'SP_CHECK(i++ < 3)'
expect impure 'SP_CHECK(--i)'
expect impure 'SP_CHECK(take(list) != NULL)'
expect impure 'SP_CHECK((a == b) &&
        push(c))'

for file in $(find sdk runtime processors exporters config -name '*.[ch]' | LC_ALL=C sort); do
    awk -v mode=list -f "$here/checks.awk" "$file" | sed "s|^|$file:|"
done >"$scratch/all"
count=$(wc -l <"$scratch/all")
if [ "$count" -ge 10 ]; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "pure: only $count checks were found"
fi
if impure <"$scratch/all" | tee "$scratch/bad" | grep .; then
    failed=$((failed + 1))
else
    passed=$((passed + 1))
fi
echo "checks.pure: $passed passed, $failed failed"
[ "$failed" = 0 ]
