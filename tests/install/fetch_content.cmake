# headwise by FetchContent, where io's packages are missing.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)

hidden(hide PkgConfig nlohmann_json Eigen3)
build_added(-D WAY=fetch_content
  -D FETCHCONTENT_SOURCE_DIR_HEADWISE=${SOURCE_DIR} ${hide})
run(${ADDED_DIR}/consumer/consumer)
