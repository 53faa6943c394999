# headwise added to another project. headwise::io is configured, not compiled.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)

build_added(-D WAY=add_subdirectory -D HEADWISE_SOURCE_DIR=${SOURCE_DIR}
  -D HEADWISE_IO=${IO})
run(${ADDED_DIR}/consumer/consumer)
