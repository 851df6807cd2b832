# SPDX-License-Identifier: Apache-2.0
# What differs from run to run, made equal: ids of 32 and 16 hex digits become <trace 1>,
# <span 1> and so on in the order of their first appearance; times and durations <time> and
# <duration>.

function numbered(word, id,    key) {
    key = word " " id
    if (!(key in number)) {
        number[key] = ++count[word]
    }
    return "<" word " " number[key] ">"
}

# All hex words of exactly `length_wanted` digits; [0-9a-f]{n} is not in every awk.
function ids_replace(text, word, length_wanted,    result, begin, id, before, after) {
    result = ""
    while (match(text, /[0-9a-f]+/)) {
        begin = RSTART
        id = substr(text, RSTART, RLENGTH)
        before = begin > 1 ? substr(text, begin - 1, 1) : " "
        after = substr(text, begin + RLENGTH, 1)
        result = result substr(text, 1, begin - 1)
        if (length(id) == length_wanted && before !~ /[A-Za-z0-9_.]/ && after !~ /[A-Za-z0-9_.]/) {
            result = result numbered(word, id)
        } else {
            result = result id
        }
        text = substr(text, begin + length(id))
    }
    return result text
}

{
    line = ids_replace($0, "trace", 32)
    line = ids_replace(line, "span", 16)
    gsub(/[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9:.]+Z/, "<time>", line)
    gsub(/ age=[0-9]+\.[0-9]+ /, " age=<duration> ", line)
    gsub(/ [0-9]+\.[0-9]+(us|ms|s) /, " <duration> ", line)
    print line
}
