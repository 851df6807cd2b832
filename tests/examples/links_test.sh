#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program that uses an instrumented library and starts no SDK needs libspool and libc, nothing of what
# libspool-export needs.
#   links_test.sh <program>
set -u
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
other=$(printf '%s\n' "$needed" |
    grep -vE '^(libspool\.so\..*|libc\.so\..*|libc\.musl.*|libpthread\.so\..*|ld-.*|lib(asan|ubsan|gcov)\.so\..*)$')
if ! printf '%s\n' "$needed" | grep -q '^libspool\.so\.'; then
    echo "links: $1 does not need libspool: $needed"
    echo "links: 0 passed, 1 failed"
    exit 1
fi
if [ -n "$other" ]; then
    echo "links: $1 needs more than libspool and libc: $other"
    echo "links: 0 passed, 1 failed"
    exit 1
fi
echo "links: 1 passed, 0 failed"
