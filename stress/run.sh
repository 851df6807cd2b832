#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the stress programs one after another; ./dev stress calls it.
#   run.sh <build folder>
set -eu
build=$1
failed=0
for program in deep_chain thread_memory live_spans one_parent; do
    echo "== $program"
    "$build/stress/$program" || {
        echo "stress: $program FAILED"
        failed=$((failed + 1))
    }
done
[ "$failed" = 0 ] || exit 1
echo "stress: all passed"
