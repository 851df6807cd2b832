#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares a list of exported symbols with a library, or brings the list up to date.
#   symbols.sh check|update <list> <shared library>
#
# The list names each symbol under the release that added it, "[SPOOL_0.1]"; the linker's
# version script is made from it. What is new goes under the last release. Names
# spool_private_* are what the two libraries share, no promise, and are not listed.
set -eu
mode=$1
list=$2
library=$3

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' |
    grep '^spool_' | grep -v '^spool_private_' | LC_ALL=C sort -u >"$scratch/built" || true
[ -s "$scratch/built" ] || {
    echo "symbols: $library exports nothing"
    exit 1
}
touch "$scratch/listed"
[ ! -f "$list" ] || grep '^spool_' "$list" | LC_ALL=C sort >"$scratch/listed" || true
LC_ALL=C comm -23 "$scratch/built" "$scratch/listed" >"$scratch/new"
LC_ALL=C comm -13 "$scratch/built" "$scratch/listed" >"$scratch/gone"
name=$(basename "$list" .txt)

case $mode in
check)
    sed 's/^/symbols: not in the list: /' "$scratch/new"
    sed 's/^/symbols: listed, but not exported: /' "$scratch/gone"
    if [ -s "$scratch/new" ] || [ -s "$scratch/gone" ]; then
        echo "symbols: if that is what you want, run ./dev symbols and review the difference"
        echo "symbols.$name: 0 passed, 1 failed"
        exit 1
    fi
    echo "symbols.$name: 1 passed, 0 failed"
    ;;
update)
    [ -f "$list" ] || cat >"$list" <<TEXT
# SPDX-License-Identifier: Apache-2.0
# What $name exports, under the release that added it. Updated by ./dev symbols; a symbol
# that leaves this list breaks programs.
[SPOOL_0.1]
TEXT
    # Drop what is gone, then add what is new to the last section, sorted.
    grep -vxF -f "$scratch/gone" "$list" >"$scratch/kept" || true
    if [ ! -s "$scratch/gone" ]; then
        cp "$list" "$scratch/kept"
    fi
    last=$(grep -n '^\[' "$scratch/kept" | tail -n 1 | cut -d: -f1)
    {
        head -n "$last" "$scratch/kept"
        { tail -n "+$((last + 1))" "$scratch/kept" && cat "$scratch/new"; } | LC_ALL=C sort -u
    } >"$scratch/list"
    if cmp -s "$scratch/list" "$list"; then
        echo "$name: no change"
    else
        cat "$scratch/list" >"$list"
        echo "$name: $(wc -l <"$scratch/new") new, $(wc -l <"$scratch/gone") gone"
    fi
    ;;
*)
    echo "symbols.sh check|update <list> <shared library>" >&2
    exit 2
    ;;
esac
