# The shared library and its installation.
#
# One libtilewright.so holds all rooms with what they link to, LLVM included; only the names of
# namespace tilewright leave it. Installed with it go the headers that <tilewright/tilewright.h>
# reaches, a CMake package and pkg-config files, none of which knows where it was installed, the
# command, the pages, and the licences: our own, and of what is linked in. A release is installed
# without the names of what it does not export, a quarter of its size.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
find_package(Threads REQUIRED)

set(objects "")
foreach(room runtime dsl codegen autotune graph models)
  get_target_property(type tilewright_${room} TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    list(APPEND objects $<TARGET_OBJECTS:tilewright_${room}>)
  endif()
endforeach()

set(exports ${PROJECT_SOURCE_DIR}/cmake/exported_symbols.map)
add_library(tilewright SHARED ${objects})
add_library(tilewright::tilewright ALIAS tilewright)
set_target_properties(tilewright PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${exports}
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(tilewright PUBLIC cxx_std_20)
target_include_directories(tilewright INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(tilewright PRIVATE tilewright_options
  ${TILEWRIGHT_LLVM_LIBRARIES} tilewright_sqlite tilewright_pcre2 tilewright_utf8proc
  tilewright_minizip ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS})
# Threads of the pool may run code of the library at any time: it is never unloaded.
target_link_options(tilewright PRIVATE -Wl,--version-script=${exports} -Wl,--exclude-libs,ALL
  -Wl,--gc-sections -Wl,-z,nodelete -Wl,-z,defs)

install(CODE "if(NOT DEFINED CMAKE_INSTALL_DO_STRIP AND CMAKE_INSTALL_CONFIG_NAME MATCHES \"^(Release|MinSizeRel)$\")
  set(CMAKE_INSTALL_DO_STRIP 1)
endif()")
install(TARGETS tilewright EXPORT tilewright_targets)
if(TARGET tilewright_c)
  target_include_directories(tilewright_c INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  install(TARGETS tilewright_c EXPORT tilewright_targets)
endif()
install(EXPORT tilewright_targets NAMESPACE tilewright:: FILE tilewrightTargets.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilewright)

set(package ${PROJECT_BINARY_DIR}/package)
configure_package_config_file(cmake/tilewrightConfig.cmake.in ${package}/tilewrightConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilewright)
write_basic_package_version_file(${package}/tilewrightConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${package}/tilewrightConfig.cmake ${package}/tilewrightConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilewright)

file(RELATIVE_PATH TILEWRIGHT_PREFIX_FROM_PC
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/tilewright.pc.in ${package}/tilewright.pc @ONLY)
if(TARGET tilewright_c)
  configure_file(cmake/tilewright_c.pc.in ${package}/tilewright_c.pc @ONLY)
  install(FILES ${package}/tilewright_c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
# Pages lie to each other as in the tree, so that their links lead somewhere.
install(FILES LICENSE NOTICE README.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN __pycache__ EXCLUDE)
foreach(room runtime dsl autotune graph models tools tests)
  file(GLOB_RECURSE pages RELATIVE ${PROJECT_SOURCE_DIR} ${room}/README.md)
  foreach(page IN LISTS pages)
    cmake_path(GET page PARENT_PATH folder)
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
  endforeach()
endforeach()
install(FILES ${package}/tilewright.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(CODE "set(TILEWRIGHT_SOURCE_DIR \"${PROJECT_SOURCE_DIR}\")
  set(TILEWRIGHT_INCLUDE_DIR \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")")
install(SCRIPT cmake/install_headers.cmake)
