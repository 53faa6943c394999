# The installed trees by pkg-config and a compiler, without CMake.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)

# compile(KIND PACKAGE PROGRAM OPTIONS...): OPTIONS are those of pkg-config.
function(compile kind package program)
  find_in_tree(pc ${TREES}/${kind} ${package}.pc)
  if(NOT pc)
    return()
  endif()
  cmake_path(GET pc PARENT_PATH folder)
  set(where PKG_CONFIG_PATH=${folder})
  set(rpath "")
  if(kind STREQUAL shared)
    # Its user has no development files of other libraries.
    set(where PKG_CONFIG_LIBDIR=${folder})
    set(rpath -Wl,-rpath,${folder}/..)
  endif()
  run(${CMAKE_COMMAND} -E env ${where}
    ${PKG_CONFIG} --cflags --libs ${ARGN} ${package})
  separate_arguments(flags UNIX_COMMAND "${output}")
  set(source ${CMAKE_CURRENT_LIST_DIR}/consumer/${program}.cc)
  run(${COMPILER} -std=c++20 ${source} ${flags} ${rpath} -o ${WORK_DIR}/${program})
  run(${WORK_DIR}/${program})
endfunction()

file(MAKE_DIRECTORY ${WORK_DIR})
compile(shared headwise consumer)
foreach(component files tokenizer ranks view models io)
  compile(shared headwise-${component} consumer_${component})
endforeach()
compile(shared headwise-mpi consumer_mpi)
compile(shared headwise-onnx consumer_onnx)
compile(static headwise consumer --static)
# Not --static: that asks for the packages behind a shared libzip, too.
foreach(component files tokenizer ranks view models io)
  compile(static headwise-${component} consumer_${component})
endforeach()
compile(static headwise-mpi consumer_mpi)
compile(static headwise-onnx consumer_onnx)
