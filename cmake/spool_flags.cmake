# SPDX-License-Identifier: Apache-2.0
# Flags, as interface targets: nothing here reaches a parent project's own targets.
#
#   spool_own(<target>...)   language, warnings and include root for a target of this tree
#
# Sanitizer and coverage flags travel with the libraries inside the build tree (whoever
# links an instrumented library must be instrumented too) and are never installed.

find_package(Threads REQUIRED)

add_library(spool_warnings INTERFACE)
target_compile_options(spool_warnings INTERFACE
    -Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wconversion
    -Wstrict-prototypes
    -Wmissing-prototypes
    -Wold-style-definition
    -Wpointer-arith
    -Wwrite-strings
    -Wvla
    -Wundef)
if(SPOOL_WERROR)
    target_compile_options(spool_warnings INTERFACE -Werror)
endif()

add_library(spool_instrumentation INTERFACE)
if(SPOOL_SANITIZE STREQUAL "address")
    set(flags -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    target_compile_options(spool_instrumentation INTERFACE ${flags})
    target_link_options(spool_instrumentation INTERFACE ${flags})
elseif(SPOOL_SANITIZE STREQUAL "thread")
    target_compile_options(spool_instrumentation INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
    target_link_options(spool_instrumentation INTERFACE -fsanitize=thread)
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        # gcc warns that it does not model atomic_thread_fence; the code that uses
        # fences says so where it does.
        target_compile_options(spool_instrumentation INTERFACE -Wno-tsan)
    endif()
endif()
if(SPOOL_COVERAGE)
    target_compile_options(spool_instrumentation INTERFACE --coverage -fprofile-update=atomic)
    target_link_options(spool_instrumentation INTERFACE --coverage)
endif()

function(spool_own)
    foreach(target IN LISTS ARGN)
        set_target_properties("${target}" PROPERTIES
            C_STANDARD 11
            C_STANDARD_REQUIRED ON
            C_EXTENSIONS OFF
            C_VISIBILITY_PRESET hidden
            POSITION_INDEPENDENT_CODE ON)
        # Defined empty, so that a file that also defines it the usual way agrees.
        target_compile_definitions("${target}" PRIVATE
            _GNU_SOURCE=
            SP_CHECKS=${SPOOL_CHECKS}
            SPOOL_WITH_OTLP=$<BOOL:${SPOOL_WITH_OTLP}>
            SPOOL_WITH_ZLIB=$<BOOL:${SPOOL_WITH_ZLIB}>)
        target_include_directories("${target}" PRIVATE
            "${PROJECT_SOURCE_DIR}"
            "${PROJECT_SOURCE_DIR}/include"
            "${PROJECT_BINARY_DIR}/include")
        # __FILE__ from the root of the tree: objects are the same wherever it was unpacked.
        target_compile_options("${target}" PRIVATE "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
        target_link_libraries("${target}" PRIVATE
            spool_warnings spool_instrumentation Threads::Threads)
    endforeach()
endfunction()
