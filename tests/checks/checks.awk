# SPDX-License-Identifier: Apache-2.0
# Finds SP_CHECK(...) and SP_CHECK_SLOW(...) in C, over lines and with parentheses inside.
#   awk -v mode=cut    prints the text without them (their line ends and continuations stay)
#   awk -v mode=list   prints "<line>:<expression>" for each
# Comments and preprocessor lines that define the macros are left as they are.

{ text = text $0 "\n" }

# The length of a check that starts at `at`, or 0.
function check_length(at,    name, i, depth, c) {
    if (at > 1 && substr(text, at - 1, 1) ~ /[A-Za-z0-9_]/) {
        return 0
    }
    name = ""
    if (substr(text, at, 14) == "SP_CHECK_SLOW(") {
        name = "SP_CHECK_SLOW("
    } else if (substr(text, at, 9) == "SP_CHECK(") {
        name = "SP_CHECK("
    } else {
        return 0
    }
    depth = 1
    inside = ""
    for (i = at + length(name); depth > 0; i++) {
        c = substr(text, i, 1)
        depth += (c == "(") - (c == ")")
        if (depth > 0) {
            inside = inside c
        }
    }
    return i - at
}

END {
    total = length(text)
    line = 1
    for (at = 1; at <= total; ) {
        # To the next candidate at once: awk is slow by the character.
        rest = index(substr(text, at), "SP_CHECK")
        step = rest ? rest - 1 : total - at + 1
        skipped = substr(text, at, step)
        if (mode == "cut") {
            printf "%s", skipped
        }
        line += gsub(/\n/, "\n", skipped)
        at += step
        if (!rest) {
            break
        }
        start = at
        while (start > 1 && substr(text, start - 1, 1) != "\n") {
            start--
        }
        long = substr(text, start, at - start) ~ /#[ \t]*(define|if)|\/\*|^ \*/ ? 0 : check_length(at)
        if (!long) {
            if (mode == "cut") {
                printf "%s", substr(text, at, 8)
            }
            at += 8
            continue
        }
        if (mode == "list") {
            said = inside
            gsub(/[ \t\\\n]+/, " ", said)
            print line ":" said
        } else {
            kept = substr(text, at, long)
            gsub(/[^\\\n]/, "", kept)
            printf "((void)0)%s", kept
        }
        taken = substr(text, at, long)
        line += gsub(/\n/, "\n", taken)
        at += long
    }
}
