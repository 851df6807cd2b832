#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs one Criterion binary and closes the gaps of its exit status: a run of no tests
# fails, and so does a run whose sanitizers reported anything.
#   unit_run.sh <binary> [<argument for Criterion>...]
set -u
binary=$1
shift

reports=$(mktemp -d) || exit 1
trap 'rm -rf "$reports"' EXIT
ASAN_OPTIONS="${ASAN_OPTIONS:-}:log_path=$reports/asan"
UBSAN_OPTIONS="${UBSAN_OPTIONS:-}:log_path=$reports/ubsan"
export ASAN_OPTIONS UBSAN_OPTIONS

"$binary" --color=never "$@" >"$reports/output" 2>&1
status=$?
cat "$reports/output"

closing=$(grep 'Tested: ' "$reports/output" | tail -n 1)
case $closing in
'')
    echo "unit_run: the run has no closing line"
    status=1
    ;;
*'Tested: 0 '*)
    echo "unit_run: no test was run"
    status=1
    ;;
esac
for report in "$reports"/asan.* "$reports"/ubsan.*; do
    if [ -s "$report" ]; then
        cat "$report"
        status=1
    fi
done
exit "$status"
