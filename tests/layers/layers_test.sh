#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks every include of the tree against docs/architecture.md; first checks the check,
# on includes that must be refused or let through.
#   layers_test.sh <root of the tree>
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$1" || exit 1

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

check() {
    awk -f "$here/layers.awk" docs/architecture.md "$1"
}

passed=0
failed=0

# expect <refused|allowed> <file> <include>
expect() {
    printf '%s:1:#include %s\n' "$2" "$3" >"$scratch/one"
    verdict=allowed
    check "$scratch/one" >"$scratch/said" || verdict=refused
    if [ "$verdict" = "$1" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "layers: $3 in $2 is $verdict, not $1"
        cat "$scratch/said"
    fi
}

expect allowed sdk/memory/slab.c '"sdk/memory/slab.h"'
expect allowed sdk/memory/slab.c '"sdk/platform/compiler.h"'
expect allowed sdk/memory/slab.c '<spool/value.h>'
expect allowed sdk/memory/slab.c '<stdlib.h>'
expect allowed sdk/memory/slab.c '<sys/mman.h>'
expect refused sdk/platform/clock.c '"sdk/memory/slab.h"'
expect refused sdk/memory/slab.c '"sdk/trace/span.h"'
expect refused sdk/memory/slab.c '"slab.h"'
expect refused sdk/trace/span.c '"sdk/log/record.h"'
expect refused sdk/wire/writer.c '"sdk/context/context.h"'
expect refused sdk/trace/span.c '"runtime/loop.h"'
expect refused sdk/trace/span.c '<uv.h>'
expect refused sdk/unheard_of/file.c '<stdlib.h>'
expect refused include/spool/trace.h '"sdk/trace/span.h"'
expect allowed runtime/loop.c '<uv.h>'
expect allowed runtime/loop.c '"sdk/wire/writer.h"'
expect refused runtime/loop.c '"exporters/otlp/otlp.h"'
expect refused runtime/loop.c '"config/environment.h"'
expect refused exporters/otlp/otlp.c '"processors/batch/batch.h"'
expect refused exporters/otlp/otlp.c '"exporters/console/console.h"'
expect refused exporters/otlp/otlp.c '<curl/curl.h>'
expect allowed exporters/otlp/otlp.c '"opentelemetry/proto/trace/v1/trace.pb-c.h"'
expect refused processors/batch/batch.c '"exporters/otlp/otlp.h"'
expect refused processors/batch/batch.c '<zlib.h>'
expect allowed config/start.c '"exporters/otlp/otlp.h"'
expect allowed config/start.c '"processors/batch/batch.h"'
expect refused config/start.c '<curl/curl.h>'
expect refused tools/spool-tail/main.c '"sdk/wire/writer.h"'
expect refused examples/shop/front.c '"runtime/loop.h"'
expect allowed tests/unit/sdk/wire/writer_test.c '<criterion/criterion.h>'
expect refused stress/fork.c '<criterion/criterion.h>'

for folder in include sdk runtime processors exporters config tools examples bench stress tests; do
    if [ -d "$folder" ]; then
        find "$folder" -name '*.[ch]' -exec grep -HnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' {} +
    fi
done >"$scratch/all"
if check "$scratch/all"; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
fi

echo "layers: $passed passed, $failed failed"
[ "$failed" = 0 ]
