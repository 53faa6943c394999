# The static tree, on a machine without io's packages.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)

file(MAKE_DIRECTORY ${WORK_DIR}/no_packages)
set(ENV{PKG_CONFIG_PATH} "")
set(ENV{PKG_CONFIG_LIBDIR} ${WORK_DIR}/no_packages)
set(reason "pkg-config does not find: libzip, nettle, libutf8proc, oniguruma, libpng, zlib")
configuring(configure without_io_packages ${WORK_DIR}/consumer
  -D CMAKE_PREFIX_PATH=${TREES}/static -D "REASON=${reason}")

attempt(result output ${configure} -D REQUIRE_IO=ON)
# CMake breaks the lines of its messages.
string(REGEX REPLACE "[ \n]+" " " output "${output}")
if(result EQUAL 0 OR NOT output MATCHES "${reason}")
  message(FATAL_ERROR "expected '${reason}':\n${output}")
endif()

run(${configure})
if(output MATCHES "pkg-config|component")
  message(FATAL_ERROR "QUIET, and yet there is a message:\n${output}")
endif()
run(${CMAKE_COMMAND} --build ${WORK_DIR}/consumer --parallel 2)
run(${WORK_DIR}/consumer/consumer/consumer)
