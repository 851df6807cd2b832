#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pages that repeat what the sources say are compared with them: docs/errors.md with the lists of codes
# in the public headers, docs/configuration.md with the variables that config/ reads, docs/threading.md with
# the functions of the headers, docs/spool-tail.md with its help; and every link of a page leads somewhere.
#   pages_test.sh <root of the tree>
set -u
root=$1

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

# same <what> <file of the page> <file of the sources>; both must hold something.
same() {
    if [ -s "$3" ] && diff -u "$2" "$3"; then
        passed=$((passed + 1))
    else
        echo "pages: $1 differ between the page (-) and the sources (+)"
        failed=$((failed + 1))
    fi
}

# X(NAME, value, "text") of a list, as "NAME|value|text".
list_of() {
    awk -v map="$2" '
        $0 ~ "^#define " map "\\(X\\)" { inside = 1; next }
        inside && match($0, /X\(.*"\)/) {
            row = substr($0, RSTART + 2, RLENGTH - 3)
            gsub(/, */, "|", row)
            print row
        }
        inside && !/\\$/ { inside = 0 }' "$1" | sed 's/"//g'
}

# Rows "| `NAME` | value | text |..." below a marker, in the same form.
rows_of() {
    awk -v begin="<!-- $2: begin -->" -v end="<!-- $2: end -->" '
        $0 == end { inside = 0 }
        inside && /^\| `/ {
            split($0, cells, "|")
            for (i = 2; i <= 4; i++) {
                gsub(/^[ `]+|[ `]+$/, "", cells[i])
            }
            print cells[2] "|" cells[3] "|" cells[4]
        }
        $0 == begin { inside = 1 }' "$1"
}

# No text of these lists holds a comma; the awk above counts on it.
list_of "$root/include/spool/status.h" SPOOL_STATUS_MAP >"$scratch/statuses"
rows_of "$root/docs/errors.md" statuses >"$scratch/statuses.page"
same "status codes" "$scratch/statuses.page" "$scratch/statuses"

list_of "$root/include/spool/sdk/stats.h" SPOOL_DROP_MAP | sed 's/^/SPOOL_DROP_/' >"$scratch/causes"
rows_of "$root/docs/errors.md" causes >"$scratch/causes.page"
same "causes of drops" "$scratch/causes.page" "$scratch/causes"

# Whole names, and SETTING("WORD"), which stands for three of them.
{
    grep -ohE '"(OTEL|SPOOL)_[A-Z0-9_]*[A-Z0-9]"' "$root"/config/*.c | tr -d '"'
    grep -ohE 'SETTING\("[A-Z_]+"\)' "$root"/config/*.c | sed 's/.*"\(.*\)".*/\1/' |
        while read -r word; do
            printf 'OTEL_EXPORTER_OTLP_%s\n' "$word" "TRACES_$word" "LOGS_$word"
        done
} | LC_ALL=C sort -u >"$scratch/variables"
# shellcheck disable=SC2016 # backquotes of Markdown
grep -oE '^\| `(OTEL|SPOOL)_[A-Z0-9_]+`' "$root/docs/configuration.md" | tr -d '|` ' |
    LC_ALL=C sort >"$scratch/variables.page"
same "variables" "$scratch/variables.page" "$scratch/variables"

# The environment is read through one function: another getenv would be missed above.
grep -n 'getenv(' "$root"/config/*.c | grep -v 'config/environment.c:' >"$scratch/getenv"
if [ -s "$scratch/getenv" ]; then
    echo "pages: config/ reads the environment past config/environment.c:"
    cat "$scratch/getenv"
    failed=$((failed + 1))
else
    passed=$((passed + 1))
fi

# Every public function has a row in docs/threading.md, and every row has a function. A name there that
# ends in * stands for all that begin so.
code_of() {
    for header in "$root"/include/spool/*.h "$root"/include/spool/*/*.h "$root/cmake/version.h.in"; do
        sed 's|/\*[^*]*\*/||g' "$header" |
            awk '/^[ \t]*\/\*/ { comment = 1 } !comment { print } /\*\// { comment = 0 }'
    done
}
code_of >"$scratch/code"
tr '\n' ' ' <"$scratch/code" | grep -oE 'SPOOL_API[^;{]*' | grep -oE '^[^(]*\(' |
    grep -oE 'spool_[a-z0-9_]+ *\($' | tr -d '( ' | LC_ALL=C sort -u >"$scratch/functions"
# shellcheck disable=SC2016 # backquotes of Markdown
awk '$0 == "<!-- functions: end -->" { inside = 0 }
     inside { split($0, cells, "|"); print cells[2] }
     $0 == "<!-- functions: begin -->" { inside = 1 }' "$root/docs/threading.md" |
    grep -oE '`spool_[a-z0-9_]+\*?`' | tr -d '`' >"$scratch/threading"
sed 's/\*$/.*/; s/^/^/; s/$/$/' "$scratch/threading" >"$scratch/patterns"
count=$(wc -l <"$scratch/functions")
if [ "$count" -lt 100 ] || [ ! -s "$scratch/patterns" ]; then
    echo "pages: $count functions in the headers, or no table in docs/threading.md: the search is broken"
    failed=$((failed + 1))
elif grep -vf "$scratch/patterns" "$scratch/functions" >"$scratch/missing"; then
    echo "pages: docs/threading.md has no row for"
    cat "$scratch/missing"
    failed=$((failed + 1))
else
    passed=$((passed + 1))
fi
grep -ohE 'spool_[a-z0-9_]+' "$scratch/code" | LC_ALL=C sort -u >"$scratch/names"
while read -r pattern; do
    grep -q "$pattern" "$scratch/names" || echo "$pattern"
done <"$scratch/patterns" >"$scratch/nameless"
if [ -s "$scratch/nameless" ]; then
    echo "pages: docs/threading.md has rows for functions that there are not"
    cat "$scratch/nameless"
    failed=$((failed + 1))
else
    passed=$((passed + 1))
fi

sed -n '/sp_tail_usage\[\]/,/;$/p' "$root/tools/tail/options.c" |
    sed -n 's/^    "\(.*\)\\n";*$/\1/p' >"$scratch/usage"
awk '$0 == "<!-- usage: end -->" { inside = 0 }
     inside && !/^```/ { print }
     $0 == "<!-- usage: begin -->" { inside = 1 }' "$root/docs/spool-tail.md" >"$scratch/usage.page"
same "options of spool-tail" "$scratch/usage.page" "$scratch/usage"

for page in "$root"/*.md "$root"/docs/*.md; do
    grep -oE '\]\([^)#]+' "$page" | sed 's/^](//' | grep -v '^[a-z]*:' | LC_ALL=C sort -u |
        while read -r target; do
            [ -e "$(dirname "$page")/$target" ] || echo "pages: ${page#"$root/"}: $target is not there"
        done
done >"$scratch/broken"
if [ -s "$scratch/broken" ]; then
    cat "$scratch/broken"
    failed=$((failed + 1))
else
    passed=$((passed + 1))
fi

echo "pages: $passed passed, $failed failed"
[ "$failed" = 0 ]
