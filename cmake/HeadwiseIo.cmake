# headwise::io: ranks 6 to 8, in the order of the data's way.
find_package(libzip REQUIRED)

add_library(headwise_io)
add_library(headwise::io ALIAS headwise_io)
headwise_library(headwise_io)
set_target_properties(headwise_io PROPERTIES EXPORT_NAME io)
target_sources(headwise_io
  PUBLIC FILE_SET HEADERS BASE_DIRS include FILES
    include/headwise/inspect/trace.h
    include/headwise/inspect/step_table.h
    include/headwise/inspect/heads_svg.h
  PRIVATE
    src/inspect/trace.cc
    src/inspect/list_steps.cc
    src/inspect/step_table.cc
    src/inspect/heads_svg.cc)
target_link_libraries(headwise_io PUBLIC headwise PRIVATE libzip::zip)
