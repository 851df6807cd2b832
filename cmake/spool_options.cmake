# SPDX-License-Identifier: Apache-2.0
# Every switch of the build. All are SPOOL_*, so that a parent project can see whose
# they are; what only developers need is on by default at top level alone.
include(CMakeDependentOption)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

# Both forms are built at once unless BUILD_SHARED_LIBS asks for one of them.
set(shared ON)
set(static ON)
if(DEFINED BUILD_SHARED_LIBS)
    set(shared "${BUILD_SHARED_LIBS}")
    if(BUILD_SHARED_LIBS)
        set(static OFF)
    endif()
endif()
option(SPOOL_BUILD_SHARED "Build the shared libraries" "${shared}")
option(SPOOL_BUILD_STATIC "Build the static libraries" "${static}")
unset(shared)
unset(static)
if(NOT SPOOL_BUILD_SHARED AND NOT SPOOL_BUILD_STATIC)
    message(FATAL_ERROR "SPOOL_BUILD_SHARED and SPOOL_BUILD_STATIC are both off: nothing to build")
endif()

option(SPOOL_BUILD_EXPORT "Build libspool-export (what main() links)" ON)
option(SPOOL_BUILD_TESTS "Build the tests" "${PROJECT_IS_TOP_LEVEL}")
option(SPOOL_BUILD_EXAMPLES "Build the examples" "${PROJECT_IS_TOP_LEVEL}")
option(SPOOL_BUILD_TOOLS "Build the command-line tools" "${PROJECT_IS_TOP_LEVEL}")
option(SPOOL_BUILD_BENCH "Build the benchmarks" "${PROJECT_IS_TOP_LEVEL}")
option(SPOOL_BUILD_STRESS "Build the stress programs" "${PROJECT_IS_TOP_LEVEL}")
option(SPOOL_INSTALL "Make install rules" "${PROJECT_IS_TOP_LEVEL}")

option(SPOOL_WITH_OTLP "OTLP over the network (needs libcurl and protobuf-c)" ON)
option(SPOOL_WITH_ZLIB "gzip bodies (needs zlib)" ON)

option(SPOOL_WERROR "Make every warning an error" OFF)
option(SPOOL_COVERAGE "Instrument for coverage" OFF)
set(SPOOL_SANITIZE "" CACHE STRING "address (with undefined), thread, or empty")
set_property(CACHE SPOOL_SANITIZE PROPERTY STRINGS "" address thread)
if(NOT SPOOL_SANITIZE MATCHES "^(address|thread)?$")
    message(FATAL_ERROR "SPOOL_SANITIZE is '${SPOOL_SANITIZE}': use address, thread, or leave it empty")
endif()

# Debug builds check themselves, others do not, unless told.
string(TOUPPER "${CMAKE_BUILD_TYPE}" SPOOL_BUILD_TYPE)
set(SPOOL_RELEASE_BUILD OFF)
if(SPOOL_BUILD_TYPE MATCHES "^(RELEASE|RELWITHDEBINFO|MINSIZEREL)$")
    set(SPOOL_RELEASE_BUILD ON)
endif()
if(SPOOL_RELEASE_BUILD)
    set(SPOOL_CHECKS 0 CACHE STRING "Internal checks: 0 none, 1 cheap, 2 all with lock ranks")
else()
    set(SPOOL_CHECKS 1 CACHE STRING "Internal checks: 0 none, 1 cheap, 2 all with lock ranks")
endif()
set_property(CACHE SPOOL_CHECKS PROPERTY STRINGS 0 1 2)
if(NOT SPOOL_CHECKS MATCHES "^[012]$")
    message(FATAL_ERROR "SPOOL_CHECKS is '${SPOOL_CHECKS}': use 0, 1 or 2")
endif()

# Which symbols the shared libraries export: `list` takes the names in tests/symbols one
# by one, `glob` takes spool_*, so that work in progress links before its list is updated.
if(SPOOL_RELEASE_BUILD)
    set(SPOOL_EXPORT_MAP list CACHE STRING "Export map of the shared libraries: list or glob")
else()
    set(SPOOL_EXPORT_MAP glob CACHE STRING "Export map of the shared libraries: list or glob")
endif()
set_property(CACHE SPOOL_EXPORT_MAP PROPERTY STRINGS list glob)
