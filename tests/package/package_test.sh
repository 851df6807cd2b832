#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the build into a scratch prefix, moves it, and uses it as strangers do: by
# pkg-config and find_package, shared and static, and from source by add_subdirectory.
# Each consumer starts an SDK, emits a span and prints it. Then looks at what was
# installed: files, exported symbols, what the libraries need.
#   package_test.sh <source folder> <build folder> <C compiler> <version>
set -u
source=$1
build=$2
cc=$3
version=$4
soversion=${version%.*}

consumer=$source/tests/package/consumer
work=$build/package
rm -rf "$work"
mkdir -p "$work"
passed=0
failed=0

pass() {
    passed=$((passed + 1))
    echo "package: ok: $1"
}

# failure <what> [<file to show>]
failure() {
    failed=$((failed + 1))
    echo "package: FAILED: $1"
    [ $# -lt 2 ] || tail -n 40 "$2"
}

DESTDIR=$work/install cmake --install "$build" --prefix /usr >"$work/install.log" 2>&1 || {
    failure "install" "$work/install.log"
    exit 1
}
# Moved from where it was made for: nothing in it may name that place.
mv "$work/install/usr" "$work/prefix"
prefix=$work/prefix
libdir=$(dirname "$(find "$prefix" -name libspool.a)")

# The same tree without shared libraries, so that -lspool can only be the archive.
cp -a "$prefix" "$work/archives"
find "$work/archives" -name 'libspool*.so*' -exec rm {} +
archive_libdir=$work/archives${libdir#"$prefix"}

# run <what> <folder of the binaries>: both programs, and what they print.
run() {
    if ! { LD_LIBRARY_PATH=$libdir "$2/library_only" >"$2/library_only.out" 2>&1 &&
        grep -qx "version $version $version 1" "$2/library_only.out" &&
        grep -qx 'recorded 0' "$2/library_only.out"; }; then
        failure "$1: libspool alone" "$2/library_only.out"
    elif ! { LD_LIBRARY_PATH=$libdir "$2/program" >"$2/program.out" 2>&1 &&
        grep -qx "version $version $version 1" "$2/program.out" &&
        grep -qx 'recorded 1' "$2/program.out" &&
        grep -q 'package\.work' "$2/program.out"; }; then
        failure "$1: a span on the console" "$2/program.out"
    else
        pass "$1"
    fi
}

# --- pkg-config ---

# by_pkg_config <what> <libdir> [--static]
by_pkg_config() {
    what=$1
    PKG_CONFIG_PATH=$2/pkgconfig
    export PKG_CONFIG_PATH
    shift 2
    out=$work/$(echo "$what" | tr ' ' '-')
    mkdir -p "$out"
    if [ "$(pkg-config --modversion spool)" != "$version" ] ||
        [ "$(pkg-config --modversion spool-export)" != "$version" ]; then
        failure "$what: version in the .pc files"
    fi
    # shellcheck disable=SC2046 # word lists
    if "$cc" -std=c11 -o "$out/library_only" $(pkg-config --cflags spool) \
        "$consumer/library_only.c" "$consumer/instrumented.c" \
        $(pkg-config "$@" --libs spool) >"$out/log" 2>&1 &&
        "$cc" -std=c11 -o "$out/program" $(pkg-config --cflags spool-export) \
            "$consumer/program.c" "$consumer/instrumented.c" \
            $(pkg-config "$@" --libs spool-export) >"$out/log" 2>&1; then
        run "$what" "$out"
    else
        failure "$what: build" "$out/log"
    fi
}

by_pkg_config "pkg-config shared" "$libdir"
by_pkg_config "pkg-config static" "$archive_libdir" --static

# --- CMake ---

# by_cmake <what> <SPOOL_FROM> <prefix>
by_cmake() {
    out=$work/cmake-$2
    if ! { cmake -S "$consumer" -B "$out" -G Ninja -DCMAKE_C_COMPILER="$cc" -DSPOOL_FROM="$2" \
        -DCMAKE_PREFIX_PATH="$3" -DSPOOL_SOURCE="$source" >"$work/cmake-$2.log" 2>&1 &&
        cmake --build "$out" >>"$work/cmake-$2.log" 2>&1; }; then
        failure "$1: build" "$work/cmake-$2.log"
    elif [ "$2" != source ] && ! grep -q "found version $version\$" "$work/cmake-$2.log"; then
        failure "$1: version of the package" "$work/cmake-$2.log"
    else
        run "$1" "$out"
    fi
}

by_cmake "find_package" package "$prefix"
by_cmake "find_package shared" shared "$prefix"
by_cmake "find_package static" static "$prefix"
if readelf -d "$work/cmake-static/program" 2>/dev/null | grep -q 'NEEDED.*libspool'; then
    failure "find_package static: linked to a shared library"
fi
by_cmake "add_subdirectory" source ""

# A part that is not there is a clear failure.
mkdir -p "$work/refused"
printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(refused LANGUAGES C)' \
    'find_package(spool CONFIG REQUIRED COMPONENTS unheard_of)' >"$work/refused/CMakeLists.txt"
if cmake -S "$work/refused" -B "$work/refused/build" -DCMAKE_PREFIX_PATH="$prefix" \
    >"$work/refused.log" 2>&1; then
    failure "an unknown component was accepted"
elif grep -q 'unheard_of' "$work/refused.log"; then
    pass "an unknown component is refused"
else
    failure "an unknown component is refused without its name" "$work/refused.log"
fi

# --- what is installed ---

(cd "$prefix" && find . -type f -o -type l | sed 's|^\./||') | LC_ALL=C sort >"$work/files"
lib=${libdir#"$prefix/"}
grep -vE "^include/spool/([a-z]+/)*[a-z0-9_]+\.h\$|^share/doc/spool/[A-Z]+(\.md)?\$|\
^share/doc/spool/docs/([a-z]+/)*[a-z-]+\.md\$|^share/doc/spool/examples/(shop/)?[a-z_]+\.[ch]\$|\
^bin/spool-tail\$|^$lib/(\
libspool(-export)?\.(a|so|so\.$soversion|so\.$version)|\
pkgconfig/spool(-export)?\.pc|\
cmake/spool/[A-Za-z-]+\.cmake|cmake/spool/modules/[A-Za-z_]+\.cmake)\$" \
    "$work/files" >"$work/unexpected"
if [ -s "$work/unexpected" ]; then
    failure "files that nobody expects" "$work/unexpected"
else
    pass "the installed files are the expected ones"
fi

(cd "$source/include" && find spool -name '*.h') | LC_ALL=C sort >"$work/headers"
echo spool/version.h | LC_ALL=C sort - "$work/headers" >"$work/headers.want"
sed -n 's|^include/||p' "$work/files" | LC_ALL=C sort >"$work/headers.got"
if diff "$work/headers.want" "$work/headers.got" >"$work/diff"; then
    pass "every public header is installed"
else
    failure "public headers" "$work/diff"
fi

# The installed pages lead to installed files.
find "$prefix/share/doc/spool" -name '*.md' | while read -r page; do
    grep -oE '\]\([^)#]+' "$page" | sed 's/^](//' | grep -v '^[a-z]*:' | LC_ALL=C sort -u |
        while read -r target; do
            [ -e "$(dirname "$page")/$target" ] || echo "$page: $target"
        done
done >"$work/broken"
if [ ! -e "$prefix/share/doc/spool/docs/configuration.md" ]; then
    failure "docs/ is not installed"
elif [ -s "$work/broken" ]; then
    failure "links of the installed pages" "$work/broken"
else
    pass "the links of the installed pages hold"
fi

# The commands of README.md, as they stand there, in a folder where ./dev build has nothing to do.
commands=$work/commands
mkdir -p "$commands/build" "$commands/bin"
ln -s "$build" "$commands/build/release"
printf '#!/bin/sh\n[ "$*" = build ]\n' >"$commands/dev"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$cc" >"$commands/bin/cc"
chmod +x "$commands/dev" "$commands/bin/cc"
cp "$source/examples/hello.c" "$commands/hello.c"
for block in hello-commands hello-output; do
    awk -v begin="<!-- $block: begin -->" -v end="<!-- $block: end -->" '
        $0 == end { inside = 0 }
        inside && !/^```/ { print }
        $0 == begin { inside = 1 }' "$source/README.md" >"$commands/$block"
done
(
    unset PKG_CONFIG_PATH LD_LIBRARY_PATH
    for variable in $(env | sed -n 's/^\(OTEL_[A-Za-z0-9_]*\)=.*/\1/p'); do
        unset "$variable"
    done
    HOME=$commands
    PATH=$commands/bin:$PATH
    export HOME PATH
    cd "$commands" && sh -eu ./hello-commands >"$commands/log" 2>&1
) || failure "the commands of README.md" "$commands/log"
for file in hello-output log; do
    grep -E '( INFO | SPAN |otel\.scope\.name=)' "$commands/$file" |
        awk -f "$source/tests/examples/normal.awk" >"$commands/$file.normal"
done
if [ -s "$commands/hello-output.normal" ] &&
    diff "$commands/hello-output.normal" "$commands/log.normal" >"$work/diff"; then
    pass "the commands of README.md do what it says"
else
    failure "the commands of README.md print something else" "$work/diff"
fi
if [ -e "$prefix/bin/spool-tail" ]; then
    if "$prefix/bin/spool-tail" --help >"$work/tail.log" 2>&1; then
        pass "the installed spool-tail runs"
    else
        failure "the installed spool-tail" "$work/tail.log"
    fi
fi

# Places of the build machine in text files.
if grep -rlIF -e "$source" -e "$build" "$prefix" >"$work/paths"; then
    failure "paths of the build in installed files" "$work/paths"
else
    pass "no path of the build is installed"
fi

# needs <library> <soname allowed>...
needs() {
    library=$1
    shift
    for need in $(readelf -d "$libdir/$library.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
        allowed=no
        for name in "$@"; do
            case $need in "$name".so*) allowed=yes ;; esac
        done
        if [ "$allowed" = no ]; then
            failure "$library needs $need"
            return
        fi
    done
    pass "$library needs nothing unexpected"
}

needs libspool libc ld-linux-x86-64 ld-linux-aarch64
needs libspool-export libspool libuv libcurl libz libprotobuf-c libcjson libyaml libm libc \
    ld-linux-x86-64 ld-linux-aarch64

for library in libspool libspool-export; do
    nm -D --defined-only "$libdir/$library.so" | awk '$2 != "A" { print $3 }' |
        sed 's/@.*//' >"$work/$library.symbols"
    if grep -v '^spool_' "$work/$library.symbols" >"$work/foreign"; then
        failure "$library exports names outside spool_" "$work/foreign"
    elif [ ! -s "$work/$library.symbols" ]; then
        failure "$library exports nothing"
    else
        pass "$library exports spool_ alone"
    fi
    dynamic=$(readelf -d "$libdir/$library.so")
    case $dynamic in
    *"[$library.so.$soversion]"*) pass "$library has its soname" ;;
    *) failure "$library: soname is not $library.so.$soversion" ;;
    esac
    case $dynamic in
    *NODELETE*) pass "$library stays loaded" ;;
    *) failure "$library is not linked -z nodelete" ;;
    esac
    case $dynamic in
    *RPATH* | *RUNPATH*) failure "$library has an rpath" ;;
    *) pass "$library has no rpath" ;;
    esac
done

echo "package: $passed passed, $failed failed"
[ "$failed" = 0 ]
