# SPDX-License-Identifier: Apache-2.0
# protobuf-c as ProtobufC::ProtobufC; only its own CMake build brings config files.
include("${CMAKE_CURRENT_LIST_DIR}/spool_find.cmake")
spool_find(ProtobufC
    TARGET ProtobufC::ProtobufC
    HEADER protobuf-c/protobuf-c.h
    LIBRARY protobuf-c
    PKGCONFIG libprotobuf-c
    CONFIG protobuf-c
    CONFIG_TARGETS protobuf-c::protobuf-c)
