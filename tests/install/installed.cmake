# headwise of one KIND, static or shared, installed, moved and found by
# find_package. BUILD_DIR is the build to install from, or empty: then the other
# project is installed, with ARCHIVE_NAME as its headwise::NAME, for each component.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)

if(NOT BUILD_DIR)
  set(with_io OFF)
  set(with_mpi OFF)
  set(with_onnx OFF)
  if(ARCHIVE_models)
    set(with_io ON)
    set(with_mpi ${MPI})
    set(with_onnx ${ONNX})
  endif()
  build_added(-D WAY=add_subdirectory -D HEADWISE_SOURCE_DIR=${SOURCE_DIR}
    -D HEADWISE_IO=${with_io} -D HEADWISE_MPI=${with_mpi} -D HEADWISE_ONNX=${with_onnx}
    -D HEADWISE_INSTALL=ON -D CONSUMER_INSTALLS=ON)
  foreach(name files ranks view models mpi onnx)
    if(ARCHIVE_${name})
      file(COPY_FILE ${ARCHIVE_${name}} ${ADDED_DIR}/headwise/libheadwise_${name}.a)
    endif()
  endforeach()
  set(BUILD_DIR ${ADDED_DIR})
  set(APPS OFF)  # the other project has no command
endif()

set(tree ${TREES}/${KIND})
file(REMOVE_RECURSE ${WORK_DIR}/before ${tree})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/before)
file(MAKE_DIRECTORY ${TREES})
file(RENAME ${WORK_DIR}/before ${tree})

find_in_tree(licence ${tree} LICENSE)
if(NOT licence)
  message(FATAL_ERROR "the licence is not installed")
endif()
if(APPS)
  run(${tree}/bin/headwise --version)
endif()
if(NOT CONSUMERS)
  return()
endif()

set(hide "")
if(KIND STREQUAL shared)
  hidden(hide hwy TBB Threads PkgConfig MPI)  # a shared headwise brings what it needs
endif()
find_in_tree(io ${tree} headwise-io-targets.cmake)
configuring(configure installed ${WORK_DIR}/consumer
  -D CMAKE_PREFIX_PATH=${tree} -D CONSUMER_IO=${io} ${hide})
run(${configure})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/consumer --parallel 2)
run(${WORK_DIR}/consumer/consumer/consumer)
if(io)
  run(${WORK_DIR}/consumer/consumer/consumer_io)
  run(${WORK_DIR}/consumer/consumer/consumer_mpi)
  run(${WORK_DIR}/consumer/consumer/consumer_onnx)
endif()
