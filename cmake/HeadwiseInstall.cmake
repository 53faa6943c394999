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
set(mpi_packages "")
foreach(name files tokenizer ranks view models mpi onnx)
  set(${name}_modules "")
  set(${name}_libs -lheadwise_${name})
endforeach()
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
  foreach(name IN LISTS headwise_components)
    get_target_property(modules headwise_${name} HEADWISE_MODULES)
    if(modules)
      set(${name}_modules ${modules})
    endif()
  endforeach()
  if(HEADWISE_MPI)
    set(mpi_packages MPI)
    list(JOIN MPI_CXX_LIBRARIES " " libraries)
    string(APPEND mpi_libs " ${libraries}")
  endif()
  if("onnx" IN_LIST headwise_components)
    set(onnx_modules protobuf)
    string(APPEND onnx_libs " -lonnx_proto")
  endif()
endif()

install(TARGETS headwise EXPORT headwise-targets FILE_SET HEADERS)
install(EXPORT headwise-targets NAMESPACE headwise:: DESTINATION ${package_dir})
set_target_properties(headwise PROPERTIES INSTALL_RPATH "$ORIGIN")
headwise_pkg_config(headwise "Multi-head attention" "${core_libs}" ${core_modules})

# headwise_install_component(NAME DESCRIPTION NEEDED...): an export and a package of
# its own, so that the core can be loaded without the packages of the components.
# NEEDED are the components that it links.
set(installed_components "")
function(headwise_install_component name description)
  if(NOT TARGET headwise_${name})
    return()
  endif()
  install(TARGETS headwise_${name} EXPORT headwise-${name}-targets FILE_SET HEADERS)
  install(EXPORT headwise-${name}-targets
    NAMESPACE headwise:: DESTINATION ${package_dir})
  set(requires "headwise = ${PROJECT_VERSION}")
  foreach(needed IN LISTS ARGN)
    list(APPEND requires "headwise-${needed} = ${PROJECT_VERSION}")
  endforeach()
  headwise_pkg_config(headwise-${name} "${description}" "${${name}_libs}" ${requires}
    ${${name}_modules})
  get_target_property(type headwise_${name} TYPE)
  if(NOT type STREQUAL INTERFACE_LIBRARY)
    set_target_properties(headwise_${name} PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
  set(installed_components ${installed_components} ${name} PARENT_SCOPE)
endfunction()
set(io_libs "")
headwise_install_component(files "Files of tensors and parameters for headwise")
headwise_install_component(tokenizer "Texts to the ids of their tokens" files)
headwise_install_component(ranks "Calls of headwise computed by several ranks")
headwise_install_component(view "Traces, pictures and pages of headwise" files)
headwise_install_component(models "Models of headwise and their heads"
  tokenizer view ranks)
headwise_install_component(io "Files, traces, pictures and models of headwise" models)
headwise_install_component(mpi "Ranks of headwise over MPI" ranks)
headwise_install_component(onnx "ONNX models of attention, run by headwise" files)

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
