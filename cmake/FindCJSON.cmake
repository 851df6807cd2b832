# SPDX-License-Identifier: Apache-2.0
# cJSON as CJSON::CJSON, to be included as <cjson/cJSON.h>.
include("${CMAKE_CURRENT_LIST_DIR}/spool_find.cmake")
spool_find(CJSON
    TARGET CJSON::CJSON
    HEADER cjson/cJSON.h
    LIBRARY cjson
    PKGCONFIG libcjson
    CONFIG cJSON
    CONFIG_TARGETS cjson)
