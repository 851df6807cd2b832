#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# unit_run.sh under test, with scripts in the place of Criterion binaries.
set -u
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

# expect <passes|fails> <what> <body of the binary>
expect() {
    printf '#!/bin/sh\n%s\n' "$3" >"$scratch/binary"
    chmod +x "$scratch/binary"
    verdict=passes
    sh "$here/unit_run.sh" "$scratch/binary" >"$scratch/output" 2>&1 || verdict=fails
    if [ "$verdict" = "$1" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "unit_run_test: $2 $verdict"
        cat "$scratch/output"
    fi
}

closing='echo "[====] Synthesis: Tested: 3 | Passing: 3 | Failing: 0 | Crashing: 0 "'
expect passes "a good run" "$closing"
expect fails "a run with a failed test" "$closing; exit 1"
expect fails "a run of no tests" \
    'echo "[====] Synthesis: Tested: 0 | Passing: 0 | Failing: 0 | Crashing: 0 "'
expect fails "a run without a closing line" 'exit 0'
# shellcheck disable=SC2016 # for the script that is made
expect fails "a run with a sanitizer's report" \
    "$closing"'; echo leaked >"${ASAN_OPTIONS##*log_path=}.123"'

echo "unit_run: $passed passed, $failed failed"
[ "$failed" = 0 ]
