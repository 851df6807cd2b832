#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds the test Collector once and prints the path of the binary.  The binary lives outside the
# source tree, under a name made of what it is built from, so a change of a pinned version builds a
# new one and nothing else does.
#
#   SPOOL_CACHE_DIR          where the binary is kept; default ~/.cache/spool
#   SPOOL_REQUIRE_COLLECTOR  1: a machine that cannot build it is a failure, not a skip
#
# Exit status: 0 the path is on stdout; 77 this machine cannot build it, the reason is on stdout;
# 1 failure.  The Go toolchain of the machine is used as it is, a newer one is never downloaded.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cache=${SPOOL_CACHE_DIR:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/spool}
required=$(sed -n 's/^go \([0-9][0-9.]*\)$/\1/p' "$here/go.mod")
hash=$(cd "$here" && sha256sum go.mod go.sum main.go | sha256sum | cut -c 1-16)
binary=$cache/collector-$hash-$(uname -m)

unavailable() {
    echo "collector: $1"
    if [ "${SPOOL_REQUIRE_COLLECTOR:-0}" = 1 ]; then
        exit 1
    fi
    exit 77
}

# Exits 0 when version $1 is at least version $2; both are numbers with dots.
version_at_least() {
    [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]
}

if [ -x "$binary" ]; then
    echo "$binary"
    exit 0
fi

command -v go >/dev/null 2>&1 || unavailable "go is not installed; $required or newer is needed"
found=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null) || found=
found=$(printf '%s\n' "$found" | sed -n 's/^go\([0-9][0-9.]*\).*/\1/p')
[ -n "$found" ] || unavailable "go does not tell its version; $required or newer is needed"
version_at_least "$found" "$required" ||
    unavailable "go $found is too old; $required or newer is needed"

mkdir -p "$cache"
# One build at a time; who waited finds the binary made.
exec 9>"$cache/collector.lock"
flock 9
if [ ! -x "$binary" ]; then
    echo "collector: building with go $found, once; this takes some minutes" >&2
    (cd "$here" && GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0 \
        nice go build -mod=readonly -buildvcs=false -trimpath -ldflags '-s -w' \
        -o "$binary.new" . >&2)
    mv "$binary.new" "$binary"
fi
echo "$binary"
