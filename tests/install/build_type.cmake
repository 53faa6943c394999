# Without CMAKE_BUILD_TYPE headwise alone is built as Release; within another project,
# whose choice that is, CMake warns.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)

set(configure ${CMAKE_COMMAND} --fresh -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER})
run(${configure} -S ${SOURCE_DIR} -B ${WORK_DIR}/alone -D HEADWISE_IO=OFF
  -D HEADWISE_TESTS=OFF)
file(STRINGS ${WORK_DIR}/alone/CMakeCache.txt type REGEX "^CMAKE_BUILD_TYPE:")
if(NOT type MATCHES "=Release$")
  message(FATAL_ERROR "headwise alone has the build type ${type}")
endif()
set(within -S ${CMAKE_CURRENT_LIST_DIR}/from_sources -B ${WORK_DIR}/within
  -D WAY=add_subdirectory -D HEADWISE_SOURCE_DIR=${SOURCE_DIR} -D HEADWISE_IO=OFF)
run(${configure} ${within})
if(NOT output MATCHES "CMAKE_BUILD_TYPE is not set")
  message(FATAL_ERROR "no warning within another project:\n${output}")
endif()
run(${configure} ${within} -D CMAKE_BUILD_TYPE=Debug)
if(output MATCHES "CMAKE_BUILD_TYPE is not set")
  message(FATAL_ERROR "a warning with a build type:\n${output}")
endif()
