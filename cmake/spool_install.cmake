# SPDX-License-Identifier: Apache-2.0
# What is installed: libraries, spool-tail, everything under include/, CMake package, pkg-config files,
# documents. Two export sets, since libspool must be usable without the dependencies of
# libspool-export. Component Runtime is what running programs need, Development the rest.
if(NOT SPOOL_INSTALL)
    return()
endif()
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/spool")

foreach(form shared static)
    foreach(part "" export_)
        if(NOT TARGET spool_${part}${form})
            continue()
        endif()
        if(part)
            set(set_name spool-export-targets)
        else()
            set(set_name spool-targets)
        endif()
        install(TARGETS spool_${part}${form} EXPORT ${set_name}
            LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
                COMPONENT Runtime NAMELINK_COMPONENT Development
            ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT Development)
    endforeach()
endforeach()

install(EXPORT spool-targets NAMESPACE spool:: DESTINATION "${package_dir}" COMPONENT Development)
# As in spool_libraries(): the shared form where there is one.
if(SPOOL_BUILD_SHARED)
    set(default_form shared)
else()
    set(default_form static)
endif()
get_property(dependency_calls GLOBAL PROPERTY SPOOL_DEPENDENCY_CALLS)
list(JOIN dependency_calls "\n    " SPOOL_FIND_DEPENDENCIES)
get_property(dependency_modules GLOBAL PROPERTY SPOOL_DEPENDENCY_MODULES)
list(JOIN dependency_modules ", " SPOOL_REQUIRES_PRIVATE)
get_property(dependency_libs GLOBAL PROPERTY SPOOL_DEPENDENCY_LIBS)
list(JOIN dependency_libs " " SPOOL_LIBS_PRIVATE)

configure_package_config_file(cmake/spool-config.cmake.in spool-config.cmake
    INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(spool-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
    "${PROJECT_BINARY_DIR}/spool-config.cmake"
    "${PROJECT_BINARY_DIR}/spool-config-version.cmake"
    DESTINATION "${package_dir}" COMPONENT Development)

# The way from the .pc file to the prefix, so that an installed tree can be moved.
file(RELATIVE_PATH SPOOL_PC_TO_PREFIX
    "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" SPOOL_PC_TO_PREFIX "${SPOOL_PC_TO_PREFIX}")
configure_file(cmake/spool.pc.in spool.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/spool.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT Development)

if(TARGET spool_export_objects)
    install(EXPORT spool-export-targets NAMESPACE spool::
        DESTINATION "${package_dir}" COMPONENT Development)
    # Static consumers must find what we found, the same way.
    install(FILES
        cmake/spool_find.cmake
        cmake/FindLibuv.cmake
        cmake/FindProtobufC.cmake
        DESTINATION "${package_dir}/modules" COMPONENT Development)
    configure_file(cmake/spool-export.pc.in spool-export.pc @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/spool-export.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT Development)
endif()

install(DIRECTORY include/ "${PROJECT_BINARY_DIR}/include/"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT Development
    FILES_MATCHING PATTERN "*.h")
# The pages and the examples that they name, in the places that they have here: so their links hold.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md VERSIONING.md LICENSE
    DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT Development)
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT Development
    FILES_MATCHING PATTERN "*.md")
install(DIRECTORY examples DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT Development
    FILES_MATCHING PATTERN "*.[ch]")
