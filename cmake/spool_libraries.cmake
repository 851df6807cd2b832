# SPDX-License-Identifier: Apache-2.0
# The two libraries, each compiled once and linked twice (shared and static).
#
#   spool_sources(spool|spool-export <file>...)   adds sources; called by each folder
#   spool_folders(<folder>...)                    adds the folders that have a CMakeLists.txt
#   spool_dependency(<package> VERSION <v> TARGET <target> PKGCONFIG <module>|LIBS <flag>)
#                                                 what libspool-export links; recorded for
#                                                 the installed package as well: in the .pc
#                                                 file as a required module, or as a flag
#   spool_libraries()                             makes the libraries, after all sources
#
# Targets: spool_shared, spool_static, spool_export_shared, spool_export_static, with the
# aliases spool::spool_shared and so on; spool::spool and spool::export are the shared
# ones where they are built.

set(SPOOL_ABI_VERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")

function(spool_sources library)
    if(library STREQUAL "spool")
        set(objects spool_objects)
    elseif(library STREQUAL "spool-export")
        set(objects spool_export_objects)
    else()
        message(FATAL_ERROR "spool_sources: the library is spool or spool-export, not '${library}'")
    endif()
    if(NOT TARGET ${objects})
        add_library(${objects} OBJECT)
        spool_own(${objects})
    endif()
    list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" REGEX "^[^/]")
    target_sources(${objects} PRIVATE ${ARGN})
endfunction()

function(spool_folders)
    foreach(folder IN LISTS ARGN)
        if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt")
            add_subdirectory("${PROJECT_SOURCE_DIR}/${folder}" "${PROJECT_BINARY_DIR}/${folder}")
        endif()
    endforeach()
endfunction()

# A macro: imported targets are local to the directory that finds them, and that must be
# the root, where every folder below sees them.
macro(spool_dependency package)
    cmake_parse_arguments(_spool "" "VERSION;TARGET;PKGCONFIG;LIBS" "" ${ARGN})
    find_package(${package} ${_spool_VERSION} REQUIRED)
    set_property(GLOBAL APPEND PROPERTY SPOOL_DEPENDENCY_TARGETS ${_spool_TARGET})
    set_property(GLOBAL APPEND PROPERTY SPOOL_DEPENDENCY_CALLS
        "find_dependency(${package} ${_spool_VERSION})")
    if(_spool_PKGCONFIG)
        set_property(GLOBAL APPEND PROPERTY SPOOL_DEPENDENCY_MODULES
            "${_spool_PKGCONFIG} >= ${_spool_VERSION}")
    else()
        set_property(GLOBAL APPEND PROPERTY SPOOL_DEPENDENCY_LIBS "${_spool_LIBS}")
    endif()
endmacro()

# Writes the linker's version script of one library. The symbol list has a line
# "[SPOOL_0.1]" for the release that added the names below it.
function(spool_export_map list map)
    set(nodes "")
    set(previous "")
    set(local "    local: *;\n")
    if(SPOOL_EXPORT_MAP STREQUAL "list" AND EXISTS "${list}")
        set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
        file(STRINGS "${list}" lines REGEX "^(\\[|spool_)")
        set(node "")
        foreach(line IN LISTS lines)
            # "[" would start a bracket argument for CMake's own list splitting.
            if(line MATCHES "^.([A-Z][A-Z0-9_.]+).$")
                if(node)
                    string(APPEND nodes "${local}}${previous};\n")
                    set(previous " ${node}")
                    set(local "")
                endif()
                set(node "${CMAKE_MATCH_1}")
                string(APPEND nodes "${node} {\n    global:\n")
            else()
                string(APPEND nodes "        ${line};\n")
            endif()
        endforeach()
        if(node)
            string(APPEND nodes "${local}}${previous};\n")
        endif()
        # What the two libraries share is no promise to anyone else: a node of its own.
        string(APPEND nodes "SPOOL_PRIVATE_${PROJECT_VERSION} {\n    global: spool_private_*;\n};\n")
    else()
        set(nodes "SPOOL_${SPOOL_ABI_VERSION} {\n    global: spool_*;\n    local: *;\n};\n")
    endif()
    file(CONFIGURE OUTPUT "${map}" CONTENT "${nodes}" @ONLY)
endfunction()

function(spool_shared_library target name objects list)
    set(map "${PROJECT_BINARY_DIR}/${name}.map")
    spool_export_map("${list}" "${map}")
    add_library(${target} SHARED $<TARGET_OBJECTS:${objects}>)
    set_target_properties(${target} PROPERTIES
        OUTPUT_NAME ${name}
        VERSION ${PROJECT_VERSION}
        SOVERSION ${SPOOL_ABI_VERSION}
        LINK_DEPENDS "${map}")
    # nodelete: threads and exit hooks of ours may outlive a dlclose of whoever loaded us.
    target_link_options(${target} PRIVATE
        "LINKER:--version-script=${map}" LINKER:-z,nodelete LINKER:--as-needed)
    if(NOT SPOOL_SANITIZE)
        target_link_options(${target} PRIVATE LINKER:-z,defs)
    endif()
endfunction()

function(spool_static_library target name objects)
    add_library(${target} STATIC $<TARGET_OBJECTS:${objects}>)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name})
endfunction()

function(spool_library_interface)
    foreach(target IN LISTS ARGN)
        target_include_directories(${target} PUBLIC
            "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
            "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>"
            "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
        target_link_libraries(${target} PUBLIC "$<BUILD_INTERFACE:spool_instrumentation>")
        set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
        string(REPLACE "spool_export_" "export_" export_name ${target})
        set_target_properties(${target} PROPERTIES EXPORT_NAME ${export_name})
        add_library(spool::${export_name} ALIAS ${target})
    endforeach()
endfunction()

function(spool_libraries)
    set(lists "${PROJECT_SOURCE_DIR}/tests/symbols")
    set(forms "")
    if(SPOOL_BUILD_SHARED)
        list(APPEND forms shared)
    endif()
    if(SPOOL_BUILD_STATIC)
        list(APPEND forms static)
    endif()
    list(GET forms 0 first)

    if(SPOOL_BUILD_SHARED)
        spool_shared_library(spool_shared spool spool_objects "${lists}/libspool.txt")
        target_link_libraries(spool_shared PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    endif()
    if(SPOOL_BUILD_STATIC)
        spool_static_library(spool_static spool spool_objects)
        target_link_libraries(spool_static PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    endif()
    foreach(form IN LISTS forms)
        spool_library_interface(spool_${form})
    endforeach()
    add_library(spool::spool ALIAS spool_${first})

    if(NOT TARGET spool_export_objects)
        return()
    endif()
    get_property(dependencies GLOBAL PROPERTY SPOOL_DEPENDENCY_TARGETS)
    target_link_libraries(spool_export_objects PRIVATE ${dependencies})
    if(TARGET spool_proto)
        target_link_libraries(spool_export_objects PRIVATE spool_proto_headers)
        add_dependencies(spool_export_objects spool_proto)
    endif()
    if(SPOOL_BUILD_SHARED)
        spool_shared_library(spool_export_shared spool-export spool_export_objects
            "${lists}/libspool-export.txt")
        target_link_libraries(spool_export_shared
            PUBLIC spool_shared
            PRIVATE ${dependencies} Threads::Threads ${CMAKE_DL_LIBS})
        if(TARGET spool_proto)
            target_link_libraries(spool_export_shared PRIVATE spool_proto)
        endif()
    endif()
    if(SPOOL_BUILD_STATIC)
        spool_static_library(spool_export_static spool-export spool_export_objects)
        target_link_libraries(spool_export_static
            PUBLIC spool_static
            PRIVATE ${dependencies} Threads::Threads ${CMAKE_DL_LIBS})
        if(TARGET spool_proto)
            # The archive carries the generated code, so that it can be linked alone.
            target_sources(spool_export_static PRIVATE $<TARGET_OBJECTS:spool_proto>)
        endif()
    endif()
    foreach(form IN LISTS forms)
        spool_library_interface(spool_export_${form})
    endforeach()
    add_library(spool::export ALIAS spool_export_${first})
endfunction()
