# cmake -P: uses headwise from another project, as WAY says, and runs it.
#   static, shared    by find_package, from an installed tree that was moved
#   add_subdirectory  from the sources
# BUILD_DIR is a build to install from; empty: that of add_subdirectory is, which
# is in ADDED_DIR and kept for next time. CONSUMERS: whether other projects are
# built, or only the command is run.

# run(COMMAND...): fails the test with what the command printed.
function(run)
  execute_process(COMMAND ${ARGN}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
endfunction()

# configure_and_build(SOURCE BUILD OPTIONS...): --fresh, for last time's cache
# may be another compiler's; what is already compiled stays.
function(configure_and_build source build)
  run(${CMAKE_COMMAND} --fresh -S ${source} -B ${build} -G ${GENERATOR}
      -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=Debug ${ARGN})
  run(${CMAKE_COMMAND} --build ${build} --parallel 2)
endfunction()

# run_consumers(FOLDER)
function(run_consumers folder)
  run(${folder}/consumer)
  if(IO)
    run(${folder}/consumer_io)
  endif()
endfunction()

# build_added(OPTIONS...)
function(build_added)
  configure_and_build(${CMAKE_CURRENT_LIST_DIR}/add_subdirectory ${ADDED_DIR}
    -D HEADWISE_SOURCE_DIR=${SOURCE_DIR} -D HEADWISE_IO=${IO}
    -D CONSUMER_IO=${IO} -D BUILD_SHARED_LIBS=${ADDED_IS_SHARED} ${ARGN})
endfunction()

if(WAY STREQUAL "add_subdirectory")
  build_added()
  run_consumers(${ADDED_DIR})
  return()
endif()

if(NOT BUILD_DIR)
  build_added(-D CONSUMER_INSTALLS=ON -D HEADWISE_INSTALL=ON)
  set(BUILD_DIR ${ADDED_DIR})
  set(APPS OFF)  # the project that adds it has no command
endif()

# Installed in one place, used in another.
set(installed ${WORK_DIR}/installed)
set(moved ${WORK_DIR}/moved)
file(REMOVE_RECURSE ${installed} ${moved} ${WORK_DIR}/consumer)
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${installed})
file(RENAME ${installed} ${moved})

if(CONSUMERS)
  configure_and_build(${CMAKE_CURRENT_LIST_DIR}/find_package
    ${WORK_DIR}/consumer
    -D CMAKE_PREFIX_PATH=${moved} -D CONSUMER_IO=${IO})
  run_consumers(${WORK_DIR}/consumer)
endif()
if(APPS)
  run(${moved}/bin/headwise --version)
endif()
