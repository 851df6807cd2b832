#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The demo as a user runs it, and what it shows: the kinds of spans, errors, events and logs that it is
# there to show, of both services, and nothing left running.
#   demo_test.sh <demo.sh> <build folder>
set -u
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

check() {
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        echo "demo: $2"
        failed=$((failed + 1))
    fi
}

TMPDIR=$scratch COLUMNS=150 sh "$1" "$2" >"$scratch/shown" 2>"$scratch/errors"
status=$?
check "$status" "status $status"

# shows <text>...: each is in the output.
for text in 'GET /articles/{id}' 'POST /articles/{id}/reservations' 'checkout' 'SELECT articles' \
    'UPDATE articles' 'COMMIT' 'restock' 'shop.out_of_stock' 'shop.database_locked' \
    'SQLITE_BUSY' 'request served' 'no such article' 'shop.order.placed'; do
    grep -qF -- "$text" "$scratch/shown"
    check $? "nothing says '$text'"
done
for code in 200 201 400 404 409 503; do
    grep -q "^  $code  " "$scratch/shown"
    check $? "no request was answered with $code"
done
# In the trace of an order, both services' spans hang on one tree.
awk '/^trace / { front = 0 }
     /^shop-front .*POST \/orders/ { front = 1 }
     /^shop-stock .*(└─|`-|├─|\|-) .*COMMIT/ && front { found = 1 }
     END { exit !found }' "$scratch/shown"
check $? "no order of shop-front ends in a commit of shop-stock"
! grep -q 'not delivered\|rejected\|dropped' "$scratch/errors"
check $? "something was not delivered"
# The three programs had this in their environment.
! grep -lsF "TMPDIR=$scratch" /proc/[0-9]*/environ
check $? "processes of the demo are left"
[ "$(find "$scratch" -mindepth 1 -maxdepth 1 -type d | wc -l)" = 0 ]
check $? "the demo left files behind"

if [ "$failed" != 0 ]; then
    cat "$scratch/shown" "$scratch/errors"
fi
echo "demo: $passed passed, $failed failed"
[ "$failed" = 0 ]
