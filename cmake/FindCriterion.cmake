# SPDX-License-Identifier: Apache-2.0
# Criterion, the unit test framework, as Criterion::Criterion. For tests only.
include("${CMAKE_CURRENT_LIST_DIR}/spool_find.cmake")
spool_find(Criterion
    TARGET Criterion::Criterion
    HEADER criterion/criterion.h
    LIBRARY criterion
    PKGCONFIG criterion)
