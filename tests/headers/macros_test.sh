#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What public headers bring into a user's name space: macros as SPOOL_* (or spool_*, where
# a macro stands for a function), functions as spool_*.
#   macros_test.sh <C compiler> <include folder>...
set -u
cc=$1
shift

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0

includes=''
for folder in "$@"; do
    includes="$includes -I$folder"
done

for folder in "$@"; do
    find "$folder" -name '*.h' -exec \
        grep -HnE '^[[:space:]]*#[[:space:]]*define[[:space:]]' {} +
done | grep -vE '#[[:space:]]*define[[:space:]]+(SPOOL_[A-Z0-9]|spool_[a-z0-9])' >"$scratch/macros"
if [ -s "$scratch/macros" ]; then
    echo "macros: names outside SPOOL_* and spool_* in public headers:"
    cat "$scratch/macros"
    failed=$((failed + 1))
fi

# Functions that all the headers together declare, as the compiler sees them: with every
# line marker dropped but those that say that our own headers follow.
{
    for folder in "$@"; do
        (cd "$folder" && find spool -name '*.h')
    done | LC_ALL=C sort | sed 's/.*/#include <&>/'
} >"$scratch/all.c"
# shellcheck disable=SC2086 # a word list
"$cc" -std=c11 $includes -E "$scratch/all.c" >"$scratch/all.i" || exit 1
awk '/^# [0-9]+ "/ { ours = ($0 ~ /\/spool\/[^"]*"/); next }
     ours' "$scratch/all.i" |
    grep -oE '(^|[ *])[a-z][a-z0-9_]*\(' | tr -d ' *(' | LC_ALL=C sort -u |
    grep -vE '^(spool_|__)|^(if|for|while|switch|return|sizeof|defined|void|int|bool|char)$' \
        >"$scratch/called"
# Inline functions may call libc; what they call is declared by a system header.
awk '/^# [0-9]+ "/ { ours = ($0 ~ /\/spool\/[^"]*"/); next }
     !ours' "$scratch/all.i" >"$scratch/system"
while read -r name; do
    grep -qw "$name" "$scratch/system" || echo "$name"
done <"$scratch/called" | grep -vE '^(memcpy|strlen|memset)$' >"$scratch/functions"
if [ -s "$scratch/functions" ]; then
    echo "macros: functions outside spool_* in public headers:"
    cat "$scratch/functions"
    failed=$((failed + 1))
fi

echo "macros: $((2 - failed)) passed, $failed failed"
[ "$failed" = 0 ]
