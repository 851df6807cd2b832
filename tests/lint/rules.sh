#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The rules of the house that a script can check; CONTRIBUTING.md has the reasons.
#   rules.sh <build folder with compile_commands.json>
set -u
build=$1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
status=0

# report <rule>: fails if there is anything on stdin, and shows it.
report() {
    cat >"$scratch/found"
    if [ -s "$scratch/found" ]; then
        echo "rules: $1:"
        sed 's/^/    /' "$scratch/found"
        status=1
    fi
}

find . -name build -prune -o -name .git -prune -o -name __pycache__ -prune -o -type f -print |
    sed 's|^\./||' | LC_ALL=C sort >"$scratch/files"
grep -E '\.[ch]$' "$scratch/files" >"$scratch/c"
grep '\.h$' "$scratch/files" >"$scratch/headers"
grep -E '(\.([ch]|h\.in|proto|cmake|cmake\.in|sh|py|go|awk)|CMakeLists\.txt)$|^(dev|\.ci/run|packages\.txt)$' \
    "$scratch/files" >"$scratch/licensed"

while read -r file; do
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2\.0' || echo "$file"
done <"$scratch/licensed" | report "no SPDX line in the first two lines"

# The first two directives are the guard; its name is of our name space and used once.
while read -r file; do
    awk -v file="$file" '
        /^[ \t]*#[ \t]*(ifndef|define|if|include|pragma)/ { directive[++count] = $1 " " $2 }
        count == 2 { exit }
        END {
            split(directive[1], first, " ")
            split(directive[2], second, " ")
            good = first[1] == "#ifndef" && second[1] == "#define" && first[2] == second[2] &&
                   first[2] ~ /^(SPOOL|SP|SPT)_[A-Z0-9_]+_H$/
            print (good ? "guard " first[2] : "none " file)
        }' "$file"
done <"$scratch/headers" >"$scratch/guards"
sed -n 's/^none //p' "$scratch/guards" | report "no include guard of the form SPOOL_..._H, SP_..._H or SPT_..._H"
sed -n 's/^guard //p' "$scratch/guards" | sort | uniq -d | report "include guards used twice"

# In two pieces, so that this file does not find itself.
words='TO''DO|FIX''ME|XX''X|HA''CK'
xargs grep -nIwE "$words" <"$scratch/files" | report "words of unfinished work"

grep '^tests/unit/' "$scratch/c" | xargs -r grep -nE '\b(u|nano)?sleep *\(' |
    report "sleep in unit tests: wait for a condition (SPT_WAIT_UNTIL)"

xargs wc -l <"$scratch/c" | awk '$2 != "total" && $1 > 900 { print $2 ": " $1 " lines" }' |
    report "files of more than 900 lines (aim at 600)"

grep -E '(^|/)(utils?|helpers?|misc|common)\.[ch]$' "$scratch/files" |
    report "file names that say nothing"

# Code is held to 100 by the formatter, which leaves comments and long strings alone.
xargs grep -nE '.{111,}' <"$scratch/c" | cut -c 1-100 | report "lines of more than 110 characters"

xargs grep -nIE '[[:space:]]+$' <"$scratch/licensed" | report "space at the end of a line"

# Sources join by a list; one that joined none was forgotten.
grep -E '^(sdk|runtime|processors|exporters|config|tools|examples|bench|stress|tests)/.*\.c$' "$scratch/files" |
    grep -v '^tests/package/consumer/' | while read -r file; do
    grep -qF "/$file\"" "$build/compile_commands.json" || echo "$file"
done | report "sources that no target compiles"

exit "$status"
