#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The backlog is what anybody's processor could be: it includes the public interface for
# implementers, its own headers and libc, and nothing else.
#   interface_test.sh <root of the tree>
set -u
cd "$1" || exit 1
passed=0
failed=0
for file in processors/backlog/*.[ch]; do
    others=$(sed -n 's/^[ \t]*#[ \t]*include[ \t]*\([<"][^>"]*[>"]\).*/\1/p' "$file" |
        grep -vE '^<spool/ext/[a-z]+\.h>$|^<spool/sdk/backlog\.h>$|^"processors/backlog/[a-z_]+\.h"$' |
        grep -vE '^<(errno|pthread|stdatomic|stdbool|stddef|stdint|stdlib|string)\.h>$')
    inner=$(grep -nE '\bsp_[a-z]+|\bSP_[A-Z]+|spool_private_' "$file")
    if [ -z "$others$inner" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'interface: %s uses more than the public interface: %s %s\n' "$file" "$others" "$inner"
    fi
done
[ "$passed" -ge 5 ] || failed=$((failed + 1))
echo "backlog.interface: $passed passed, $failed failed"
[ "$failed" = 0 ]
