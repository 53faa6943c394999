# The programs of a consumer, however it came by headwise.
add_executable(consumer ${CMAKE_CURRENT_LIST_DIR}/consumer.cc)
target_link_libraries(consumer PRIVATE headwise::headwise)

if(CONSUMER_IO)
  add_executable(consumer_io ${CMAKE_CURRENT_LIST_DIR}/consumer_io.cc)
  target_link_libraries(consumer_io PRIVATE headwise::io)
endif()
