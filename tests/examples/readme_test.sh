#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# README.md keeps its word: the program in it is examples/hello.c, has fewer than 30 lines, compiles
# as a user compiles it, and prints what README.md says it prints.
#   readme_test.sh <README.md> <examples/hello.c> <C compiler> <compiler flag>...
set -u
folder=$(dirname "$0")
readme=$1
source=$2
cc=$3
shift 3

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

check() {
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        echo "readme: $2"
        failed=$((failed + 1))
    fi
}

# block <name>: what stands between the markers, without the fence.
block() {
    awk -v begin="<!-- $1: begin -->" -v end="<!-- $1: end -->" '
        $0 == end { inside = 0 }
        inside && !/^```/ { print }
        $0 == begin { inside = 1 }' "$readme"
}

block hello >"$scratch/hello.c"
block hello-output >"$scratch/promised"

lines=$(wc -l <"$scratch/hello.c")
[ "$lines" -gt 5 ] && [ "$lines" -lt 30 ]
check $? "the program has $lines lines"

diff -u "$source" "$scratch/hello.c"
check $? "the program is not examples/hello.c"

"$cc" -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -o "$scratch/hello" \
    "$scratch/hello.c" "$@"
check $? "the program does not compile"

for variable in $(env | sed -n 's/^\(OTEL_[A-Za-z0-9_]*\)=.*/\1/p'); do
    unset "$variable"
done
"$scratch/hello" >"$scratch/printed"
check $? "the program fails"

awk -f "$folder/normal.awk" "$scratch/printed" >"$scratch/printed.normal"
awk -f "$folder/normal.awk" "$scratch/promised" >"$scratch/promised.normal"
[ -s "$scratch/promised" ] && diff -u "$scratch/promised.normal" "$scratch/printed.normal"
check $? "the program prints something else than README.md says"

# Every relative link leads to a file.
grep -oE '\]\([^)#]+' "$readme" | sed 's/^](//' | grep -v '^[a-z]*:' | LC_ALL=C sort -u |
    while read -r target; do
        [ -e "$(dirname "$readme")/$target" ] || echo "$target"
    done >"$scratch/broken"
[ ! -s "$scratch/broken" ]
check $? "links that lead nowhere: $(tr '\n' ' ' <"$scratch/broken")"

echo "readme: $passed passed, $failed failed"
[ "$failed" = 0 ]
