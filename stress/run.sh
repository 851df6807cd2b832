#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the stress programs of a build folder; ./dev stress calls it.
set -eu
build=$1
passed=0
failed=0
for program in deep_chain live_spans thread_memory one_parent; do
    echo "$program:"
    if figures=$("$build/stress/$program"); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
    printf '%s\n' "$figures" | sed 's/^/  /'
done
echo "stress: $passed passed, $failed failed"
[ "$failed" = 0 ]
