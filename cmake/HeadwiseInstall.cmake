# `cmake --install`: a tree that can be moved, found by find_package(headwise).
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headwise)
set(libraries headwise)
if(HEADWISE_IO)
  list(APPEND libraries headwise_io)
endif()

set_target_properties(${libraries} PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS ${libraries} EXPORT headwise-targets FILE_SET HEADERS)
install(EXPORT headwise-targets NAMESPACE headwise:: DESTINATION ${package_dir})

configure_package_config_file(
  cmake/headwise-config.cmake.in headwise-config.cmake
  INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(headwise-config-version.cmake
  COMPATIBILITY SameMinorVersion)  # 0.x breaks with each minor version
install(FILES
  ${PROJECT_BINARY_DIR}/headwise-config.cmake
  ${PROJECT_BINARY_DIR}/headwise-config-version.cmake
  DESTINATION ${package_dir})

if(HEADWISE_APPS)
  install(TARGETS headwise_cli)
endif()
