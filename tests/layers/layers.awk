# SPDX-License-Identifier: Apache-2.0
# Reads docs/architecture.md, then lines "<file>:<line>:<the include>", and prints every
# include that the tables of that page do not allow. See layers_test.sh.

# The row for a file or folder: the longest name in `rows` that it is, or is below.
function row_of(path, rows,    name) {
    name = path
    while (!(name in rows)) {
        if (name !~ /\//) {
            return ""
        }
        sub(/\/[^\/]*$/, "", name)
    }
    return name
}

# Whether `path` is `folder` or below it.
function below(path, folder) {
    return path == folder || index(path, folder "/") == 1
}

function allowed_by(list, path,    names, count, i) {
    count = split(list, names, " ")
    for (i = 1; i <= count; i++) {
        if (names[i] == "*" || below(path, names[i])) {
            return 1
        }
    }
    return 0
}

function complain(text) {
    print place ": " text
    wrong++
}

FNR == 1 { file_number++ }

file_number == 1 && /<!-- layers: begin -->/    { table = "layers"; next }
file_number == 1 && /<!-- libraries: begin -->/ { table = "libraries"; next }
file_number == 1 && /<!-- [a-z]*: end -->/      { table = ""; next }
file_number == 1 && table != "" && /^\| `/ {
    split($0, cells, "|")
    gsub(/[` ]/, "", cells[2])
    gsub(/`/, "", cells[3])
    if (table == "layers") {
        layers[cells[2]] = cells[3]
        rows_read++
    } else {
        libraries[cells[2]] = cells[3]
        libraries_read++
    }
    next
}
file_number == 1 { next }

{
    split($0, parts, ":")
    file = parts[1]
    place = file ":" parts[2]
    target = $0
    quoted = (target ~ /include[ \t]*"/)
    sub(/^[^<"]*[<"]/, "", target)
    sub(/[>"].*$/, "", target)
    includes++

    from = row_of(file, layers)
    if (from == "") {
        complain("this folder has no row in docs/architecture.md")
        next
    }
    for (library in libraries) {
        is_of_library = library ~ /\/$/ ? index(target, library) == 1 : target == library
        if (is_of_library && !allowed_by(libraries[library], file)) {
            complain("<" target "> may not be named in " from)
        }
        if (is_of_library) {
            next
        }
    }
    if (target ~ /^spool\//) {
        next
    }
    # Beside the file, without a folder: only tools and examples, which are programs.
    if (quoted && target !~ /\//) {
        if (from !~ /^(tools|examples|tests|bench|stress)/) {
            complain("\"" target "\": write it from the root of the tree")
        }
        next
    }
    to = row_of(target, layers)
    if (to == "") {
        if (quoted) {
            complain("\"" target "\" is in no folder of docs/architecture.md")
        }
        next
    }
    if (to != from && !allowed_by(layers[from], to)) {
        complain(from " may not include " to " (" target ")")
    }
}

END {
    if (rows_read < 10 || libraries_read < 5) {
        print "layers: the tables of docs/architecture.md were not found"
        wrong++
    }
    printf "layers: %d includes looked at, %d not allowed\n", includes, wrong
    exit wrong > 0
}
