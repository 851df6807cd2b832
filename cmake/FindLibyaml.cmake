# SPDX-License-Identifier: Apache-2.0
# libyaml as Libyaml::Libyaml.
include("${CMAKE_CURRENT_LIST_DIR}/spool_find.cmake")
spool_find(Libyaml
    TARGET Libyaml::Libyaml
    HEADER yaml.h
    LIBRARY yaml
    PKGCONFIG yaml-0.1
    CONFIG yaml
    CONFIG_TARGETS yaml)
