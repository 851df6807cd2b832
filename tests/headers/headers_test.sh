#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles every public header alone, twice in one file (its guard works), in each
# language that users have, with more warnings than the library itself.
#   headers_test.sh <C compiler> <C++ compiler> <include folder>...
set -u
cc=$1
cxx=$2
shift 2
[ -x "$(command -v "$cxx")" ] || {
    echo "headers: a C++ compiler is needed (Debian: g++)"
    exit 1
}

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
flags="-Wall -Wextra -Wpedantic -Wundef -Werror -fsyntax-only"
# Not for C++: there a function that shares its name with a struct shadows a constructor.
c_flags="-Wshadow -Wstrict-prototypes -Wold-style-definition -Wconversion"

# compile <compiler> <language> <standard> <header> <extra flag>...
compile() {
    compiler=$1
    language=$2
    standard=$3
    header=$4
    shift 4
    printf '#include <%s>\n#include <%s>\nextern int end;\n' "$header" "$header" \
        >"$scratch/source"
    # shellcheck disable=SC2086 # word lists
    "$compiler" -x "$language" "-std=$standard" $flags "$@" $includes "$scratch/source" \
        2>"$scratch/errors" || {
        echo "headers: <$header> does not compile alone as $standard ($compiler):"
        cat "$scratch/errors"
        return 1
    }
}

includes=''
for folder in "$@"; do
    includes="$includes -I$folder"
done
for folder in "$@"; do
    (cd "$folder" && find spool -name '*.h')
done | LC_ALL=C sort >"$scratch/headers"

passed=0
failed=0
while read -r header; do
    # shellcheck disable=SC2086 # word lists
    if compile "$cc" c c11 "$header" $c_flags &&
        compile "$cc" c c17 "$header" $c_flags &&
        compile "$cxx" c++ c++11 "$header" &&
        compile "$cxx" c++ c++17 "$header" &&
        compile "$cxx" c++ c++20 "$header"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done <"$scratch/headers"

# The test can fail: a header that needs another one first.
mkdir -p "$scratch/bad/spool"
echo 'size_t missing_its_include(void);' >"$scratch/bad/spool/bad.h"
includes="-I$scratch/bad"
if compile "$cc" c c11 spool/bad.h >/dev/null; then
    echo "headers: a header that is not self-contained was let through"
    failed=$((failed + 1))
fi

echo "headers: $passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
