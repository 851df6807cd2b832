#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clang-tidy on the sources of the libraries and tools, two minutes a file at most. A file
# that was clean is not looked at again until it, a header, or the checks change.
#   tidy.sh <build folder with compile_commands.json>
set -u
build=$1
tidy=$(command -v clang-tidy-14 || command -v clang-tidy) || {
    echo "tidy: clang-tidy is not installed"
    exit 1
}
clean=$build/tidy
mkdir -p "$clean"

# The flags are gcc's; what clang does not know of them does not matter here.
cat >"$clean/one.sh" <<'TEXT'
tidy=$1 build=$2 source=$3 key=$4
timeout 120 "$tidy" --quiet -p "$build" --extra-arg=-Wno-unknown-warning-option "$source" \
    2>"$key.errors" || {
    echo "tidy: $source"
    grep -v 'warnings\? generated' "$key.errors"
    exit 1
}
rm -f "$key.errors"
touch "$key"
TEXT

shared=$({
    cat .clang-tidy
    find include sdk runtime processors exporters config tools -name '*.h' 2>/dev/null |
        LC_ALL=C sort | xargs cat
} | cksum | tr ' ' '-')

find sdk runtime processors exporters config tools -name '*.c' 2>/dev/null | LC_ALL=C sort |
    while read -r source; do
        # What no target compiles has no flags; the rules check reports it.
        grep -qF "/$source\"" "$build/compile_commands.json" || continue
        key=$clean/$(cksum <"$source" | tr ' ' '-')-$shared
        [ -f "$key" ] || printf '%s\n%s\n' "$source" "$key"
    done >"$clean/work"
xargs -r -n 2 -P "$(nproc 2>/dev/null || echo 2)" sh "$clean/one.sh" "$tidy" "$build" <"$clean/work"
