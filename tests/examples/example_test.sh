#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs an example and compares what it prints with a file.
#   example_test.sh <expected output> <program> [<argument>...]
# Ids, times and durations differ from run to run: normal.awk replaces them, ids by numbers in
# the order in which they come, so that equal ones stay equal.
set -u
folder=$(dirname "$0")
expected=$1
shift
name=$(basename "$1")

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

for variable in $(env | sed -n 's/^\(OTEL_[A-Za-z0-9_]*\)=.*/\1/p'); do
    unset "$variable"
done
"$@" >"$scratch/printed" 2>"$scratch/errors"
status=$?
awk -f "$folder/normal.awk" "$scratch/printed" >"$scratch/normal"

failed=0
if [ "$status" != 0 ]; then
    echo "$name ended with status $status"
    failed=1
fi
if [ -s "$scratch/errors" ]; then
    echo "$name said on standard error:"
    cat "$scratch/errors"
    failed=1
fi
if ! diff -u "$expected" "$scratch/normal"; then
    echo "$name printed something else than $expected"
    failed=1
fi
echo "example.$name: $((1 - failed)) passed, $failed failed"
exit "$failed"
