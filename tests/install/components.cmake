# Each component alone, compiled within another project, with a program that links it.
# Then the core without the kernels of narrow numbers.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)

function(use_alone component)
  configuring(configure from_sources ${ADDED_DIR}
    -D CMAKE_CXX_FLAGS=-DHWY_COMPILE_ONLY_STATIC
    -D BUILD_SHARED_LIBS=${ADDED_IS_SHARED} -D WAY=add_subdirectory
    -D HEADWISE_SOURCE_DIR=${SOURCE_DIR} -D HEADWISE_IO=OFF
    -D CONSUMER_COMPONENTS=${component} ${ARGN})
  run(${configure})
  set(program consumer_${component})
  run(${CMAKE_COMMAND} --build ${ADDED_DIR} --parallel 2 --target ${program})
  run(${ADDED_DIR}/consumer/${program})
endfunction()

foreach(component files tokenizer ranks view models onnx)
  if(ONNX OR NOT component STREQUAL "onnx")
    use_alone(${component} -D HEADWISE_COMPONENTS=${component})
  endif()
endforeach()
use_alone(narrow -D HEADWISE_NARROW=OFF)
