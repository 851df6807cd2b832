# SPDX-License-Identifier: Apache-2.0
# The common part of our Find modules: a package's own CMake files first, then
# pkg-config, then nothing; one imported target in every case.
#
#   spool_find(<package> TARGET <target to make> HEADER <header> LIBRARY <name>
#              PKGCONFIG <module> [CONFIG <package>] [CONFIG_TARGETS <target>...])
#
# Sets <package>_FOUND through find_package_handle_standard_args. HEADER is looked for
# in any case: what it is found under becomes the include directory, so that the spelling
# in our sources works whatever include directories the package names itself.
include(FindPackageHandleStandardArgs)

macro(spool_find package)
    cmake_parse_arguments(_find "" "TARGET;HEADER;LIBRARY;PKGCONFIG;CONFIG" "CONFIG_TARGETS" ${ARGN})
    set(_find_link "")
    if(_find_CONFIG)
        find_package(${_find_CONFIG} CONFIG QUIET)
        foreach(_find_candidate IN LISTS _find_CONFIG_TARGETS)
            if(NOT _find_link AND TARGET ${_find_candidate})
                set(_find_link ${_find_candidate})
                set(${package}_VERSION "${${_find_CONFIG}_VERSION}")
            endif()
        endforeach()
    endif()
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
        pkg_check_modules(PC_${package} QUIET ${_find_PKGCONFIG})
    endif()
    find_path(${package}_INCLUDE_DIR ${_find_HEADER} HINTS ${PC_${package}_INCLUDE_DIRS})
    if(_find_link)
        set(${package}_LIBRARY ${_find_link})
    else()
        find_library(${package}_LIBRARY ${_find_LIBRARY} HINTS ${PC_${package}_LIBRARY_DIRS})
        set(${package}_VERSION "${PC_${package}_VERSION}")
    endif()
    mark_as_advanced(${package}_INCLUDE_DIR ${package}_LIBRARY)
    find_package_handle_standard_args(${package}
        REQUIRED_VARS ${package}_LIBRARY ${package}_INCLUDE_DIR
        VERSION_VAR ${package}_VERSION)
    if(${package}_FOUND AND NOT TARGET ${_find_TARGET})
        add_library(${_find_TARGET} INTERFACE IMPORTED)
        target_include_directories(${_find_TARGET} SYSTEM INTERFACE "${${package}_INCLUDE_DIR}")
        target_link_libraries(${_find_TARGET} INTERFACE "${${package}_LIBRARY}")
    endif()
endmacro()
