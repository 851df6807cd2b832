#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Formatting, by the one version of clang-format that .clang-format is written for: others
# format differently. Generated code is in build/ and not looked at.
#   format.sh <build folder, for the report>
set -u
formatter=$(command -v clang-format-14 || command -v clang-format) || {
    echo "format: clang-format 14 is not installed"
    exit 1
}
case $("$formatter" --version) in
*'version 14.'*) ;;
*)
    echo "format: $("$formatter" --version): version 14 is needed"
    exit 1
    ;;
esac
find . -name build -prune -o -name .git -prune -o \
    -name '*.[ch]' -exec "$formatter" --dry-run -Werror {} + 2>&1 |
    sed -n 's/^\(.*\):\([0-9]*\):[0-9]*: error.*/format: \1:\2/p' | uniq >"$1/format"
if [ -s "$1/format" ]; then
    cat "$1/format"
    echo "format: $formatter -i <file> mends it"
    exit 1
fi
