# `cmake --install`: a tree that can be moved, found by find_package(headwise)
# and by pkg-config.
include(CMakePackageConfigHelpers)
include(HeadwisePkgConfig)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headwise)

# A shared library brings what it needs. Programs that use a static one must link
# these packages themselves: those of CMake, and the same for pkg-config.
set(core_packages "")
set(core_modules "")
set(core_libs -lheadwise)
set(io_link_modules "")
set(mpi_packages "")
set(mpi_libs -lheadwise_mpi)
set(onnx_modules "")
set(onnx_libs -lheadwise_onnx)
get_target_property(type headwise TYPE)
if(type STREQUAL STATIC_LIBRARY)
  list(APPEND core_packages hwy)
  list(APPEND core_modules libhwy)
  if(HEADWISE_EXECUTOR STREQUAL "tbb")
    list(APPEND core_packages TBB)
    list(APPEND core_modules tbb)
  else()
    list(APPEND core_packages Threads)
    string(APPEND core_libs " -pthread")
  endif()
  if(HEADWISE_CUDA)
    list(APPEND core_packages CUDAToolkit)
    get_target_property(cudart CUDA::cudart_static IMPORTED_LOCATION)
    string(APPEND core_libs " ${cudart} -ldl -lrt -pthread")
  endif()
  set(io_link_modules ${io_modules})
  if(HEADWISE_MPI)
    set(mpi_packages MPI)
    list(JOIN MPI_CXX_LIBRARIES " " libraries)
    string(APPEND mpi_libs " ${libraries}")
  endif()
  if(HEADWISE_ONNX)
    set(onnx_modules protobuf)
    string(APPEND onnx_libs " -lonnx_proto")
  endif()
endif()

install(TARGETS headwise EXPORT headwise-targets FILE_SET HEADERS)
install(EXPORT headwise-targets NAMESPACE headwise:: DESTINATION ${package_dir})
set_target_properties(headwise PROPERTIES INSTALL_RPATH "$ORIGIN")
headwise_pkg_config(headwise "Multi-head attention" "${core_libs}" ${core_modules})

if(HEADWISE_IO)
  # An export of its own: without io's packages the core can still be loaded.
  install(TARGETS headwise_io EXPORT headwise-io-targets FILE_SET HEADERS)
  install(EXPORT headwise-io-targets
    NAMESPACE headwise:: DESTINATION ${package_dir})
  set_target_properties(headwise_io PROPERTIES INSTALL_RPATH "$ORIGIN")
  headwise_pkg_config(headwise-io "Files, traces and pictures of headwise"
    -lheadwise_io "headwise = ${PROJECT_VERSION}" ${io_link_modules})
  # The same for MPI.
  install(TARGETS headwise_mpi EXPORT headwise-mpi-targets FILE_SET HEADERS)
  install(EXPORT headwise-mpi-targets
    NAMESPACE headwise:: DESTINATION ${package_dir})
  set_target_properties(headwise_mpi PROPERTIES INSTALL_RPATH "$ORIGIN")
  headwise_pkg_config(headwise-mpi "Ranks of headwise over MPI"
    "${mpi_libs}" "headwise-io = ${PROJECT_VERSION}")
  # And for ONNX.
  install(TARGETS headwise_onnx EXPORT headwise-onnx-targets FILE_SET HEADERS)
  install(EXPORT headwise-onnx-targets
    NAMESPACE headwise:: DESTINATION ${package_dir})
  set_target_properties(headwise_onnx PROPERTIES INSTALL_RPATH "$ORIGIN")
  headwise_pkg_config(headwise-onnx "ONNX models of attention, run by headwise"
    "${onnx_libs}" "headwise-io = ${PROJECT_VERSION}" ${onnx_modules})
endif()

configure_package_config_file(
  cmake/headwise-config.cmake.in headwise-config.cmake
  INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(headwise-config-version.cmake
  COMPATIBILITY SameMinorVersion)  # 0.x breaks with each minor version
install(FILES
  ${PROJECT_BINARY_DIR}/headwise-config.cmake
  ${PROJECT_BINARY_DIR}/headwise-config-version.cmake
  DESTINATION ${package_dir})

# Not CMAKE_INSTALL_DOCDIR: where another project adds headwise, that folder has
# the other project's name.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/headwise)

if(HEADWISE_APPS)
  install(TARGETS headwise_cli)
  if(type STREQUAL SHARED_LIBRARY)  # found from the command, wherever the tree is
    file(RELATIVE_PATH libraries
      ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_target_properties(headwise_cli PROPERTIES
      INSTALL_RPATH "$ORIGIN/${libraries}")
  endif()
endif()
