# SPDX-License-Identifier: Apache-2.0
# libuv as Libuv::Libuv. Its installed package names libuv::uv and libuv::uv_a, its
# build tree libuv::libuv: any of them will do.
include("${CMAKE_CURRENT_LIST_DIR}/spool_find.cmake")
spool_find(Libuv
    TARGET Libuv::Libuv
    HEADER uv.h
    LIBRARY uv
    PKGCONFIG libuv
    CONFIG libuv
    CONFIG_TARGETS libuv::uv libuv::libuv libuv::uv_a)
