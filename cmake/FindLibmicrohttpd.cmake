# SPDX-License-Identifier: Apache-2.0
# libmicrohttpd, the HTTP server of examples and tests, as Libmicrohttpd::Libmicrohttpd.
include("${CMAKE_CURRENT_LIST_DIR}/spool_find.cmake")
spool_find(Libmicrohttpd
    TARGET Libmicrohttpd::Libmicrohttpd
    HEADER microhttpd.h
    LIBRARY microhttpd
    PKGCONFIG libmicrohttpd)
