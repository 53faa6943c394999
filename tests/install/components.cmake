# Each component alone, compiled within another project, with a program that links it.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)

foreach(component files ranks view models onnx)
  if(component STREQUAL "onnx" AND NOT ONNX)
    continue()
  endif()
  configuring(configure from_sources ${ADDED_DIR}
    -D CMAKE_CXX_FLAGS=-DHWY_COMPILE_ONLY_STATIC
    -D BUILD_SHARED_LIBS=${ADDED_IS_SHARED} -D WAY=add_subdirectory
    -D HEADWISE_SOURCE_DIR=${SOURCE_DIR} -D HEADWISE_IO=OFF
    -D HEADWISE_COMPONENTS=${component} -D CONSUMER_COMPONENTS=${component})
  run(${configure})
  set(program consumer_${component})
  run(${CMAKE_COMMAND} --build ${ADDED_DIR} --parallel 2 --target ${program})
  run(${ADDED_DIR}/consumer/${program})
endforeach()
