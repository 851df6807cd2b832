# SPDX-License-Identifier: Apache-2.0
# How tests join the build.
#
#   spool_unit_test(<suite> <file>...)      Criterion binary, one ctest entry unit.<suite>;
#                                           left out under ThreadSanitizer, where
#                                           Criterion does not start
#   spool_program_test(<name> <file>...)    plain program, ctest entry program.<name>; exit
#                                           status 0 passes, 77 is a skip, else it fails
#   spool_script_test(<name> COMMAND <command> [<argument>...])
#                                           ctest entry <name>; same exit statuses; not
#                                           run under ThreadSanitizer
#
# All take, before the files or COMMAND:
#   TIMEOUT <seconds>       default 120; multiplied by 3 under sanitizers
#   SERIAL                  nothing else runs meanwhile (timing, fixed resources)
# and the first two
#   LIBRARIES <target>...   linked beside the two static libraries and the test kit
#   ARGUMENTS <argument>... given to the program; for a unit test, to Criterion
# and the last two
#   ENVIRONMENT <NAME=value>...
#
# Tests link the static libraries: hidden functions are within reach there.

if(NOT SPOOL_BUILD_STATIC)
    message(FATAL_ERROR "The tests link the static libraries: turn SPOOL_BUILD_STATIC on or SPOOL_BUILD_TESTS off")
endif()
if(NOT SPOOL_SANITIZE STREQUAL "thread")
    find_package(Criterion)
    if(NOT Criterion_FOUND)
        message(FATAL_ERROR "The unit tests need Criterion (Debian: libcriterion-dev); "
            "without it configure with -DSPOOL_BUILD_TESTS=OFF")
    endif()
endif()

set(SPOOL_TEST_ENVIRONMENT
    "ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1")

macro(_spool_test_arguments)
    cmake_parse_arguments(PARSE_ARGV 1 test "SERIAL" "TIMEOUT" "LIBRARIES;ARGUMENTS;ENVIRONMENT;COMMAND;SOURCES" )
    list(APPEND test_SOURCES ${test_UNPARSED_ARGUMENTS})
    if(NOT test_TIMEOUT)
        set(test_TIMEOUT 120)
    endif()
    if(SPOOL_SANITIZE)
        math(EXPR test_TIMEOUT "${test_TIMEOUT} * 3")
    endif()
endmacro()

function(_spool_test_executable target)
    add_executable(${target} ${test_SOURCES})
    spool_own(${target})
    target_link_libraries(${target} PRIVATE spt ${test_LIBRARIES})
    if(TARGET spool_proto)
        target_link_libraries(${target} PRIVATE spool_proto_headers)
    endif()
    if(TARGET spool_export_static)
        target_link_libraries(${target} PRIVATE spool_export_static)
    endif()
    target_link_libraries(${target} PRIVATE spool_static)
endfunction()

function(_spool_test_properties name label)
    set_tests_properties(${name} PROPERTIES
        TIMEOUT ${test_TIMEOUT}
        SKIP_RETURN_CODE 77
        LABELS ${label}
        ENVIRONMENT "${SPOOL_TEST_ENVIRONMENT};${test_ENVIRONMENT}")
    if(test_SERIAL)
        set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
    endif()
endfunction()

function(spool_unit_test suite)
    if(SPOOL_SANITIZE STREQUAL "thread")
        return()
    endif()
    _spool_test_arguments(${ARGN})
    set(target "unit_${suite}")
    _spool_test_executable(${target})
    target_link_libraries(${target} PRIVATE Criterion::Criterion)
    if(test_SERIAL)
        list(APPEND test_ARGUMENTS --jobs 1)
    endif()
    add_test(NAME "unit.${suite}"
        COMMAND sh "${PROJECT_SOURCE_DIR}/tests/support/unit_run.sh" $<TARGET_FILE:${target}> ${test_ARGUMENTS})
    _spool_test_properties("unit.${suite}" unit)
endfunction()

function(spool_program_test name)
    _spool_test_arguments(${ARGN})
    set(target "program_${name}")
    _spool_test_executable(${target})
    add_test(NAME "program.${name}" COMMAND ${target} ${test_ARGUMENTS})
    _spool_test_properties("program.${name}" program)
endfunction()

function(spool_script_test name)
    if(SPOOL_SANITIZE STREQUAL "thread")
        return()
    endif()
    _spool_test_arguments(${ARGN})
    add_test(NAME "${name}" COMMAND ${test_COMMAND})
    _spool_test_properties("${name}" script)
endfunction()
