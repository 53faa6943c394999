# What the install tests have in common. They are scripts of cmake -P, and
# CMakeLists.txt passes:
#   ADDED_DIR         where the sources are compiled as part of another project,
#                     once for all tests
#   ADDED_IS_SHARED   the kind made there, the one BUILD_DIR has not
#   TREES             installed trees that have been moved: TREES/static, TREES/shared
#   WORK_DIR          a folder of the test's own

# attempt(RESULT OUTPUT COMMAND...)
function(attempt result output)
  execute_process(COMMAND ${ARGN}
    RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(${result} ${code} PARENT_SCOPE)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

# run(COMMAND...): fails the test with what the command printed, which is in
# `output` afterwards.
macro(run)
  attempt(result output ${ARGN})
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
endmacro()

# configuring(VARIABLE PROJECT FOLDER OPTIONS...): the command that configures a
# project of this folder. Without a build type, which is the quickest to compile.
# --fresh, because the cache may be another compiler's; what has been compiled in
# subfolders stays.
function(configuring variable project folder)
  set(${variable} ${CMAKE_COMMAND} --fresh
    -S ${CMAKE_CURRENT_LIST_DIR}/${project} -B ${folder} -G ${GENERATOR}
    -D CMAKE_CXX_COMPILER=${COMPILER} ${ARGN}
    PARENT_SCOPE)
endfunction()

# hidden(VARIABLE PACKAGES...): the options that make find_package miss them.
function(hidden variable)
  list(TRANSFORM ARGN PREPEND -DCMAKE_DISABLE_FIND_PACKAGE_)
  list(TRANSFORM ARGN APPEND =ON)
  set(${variable} ${ARGN} PARENT_SCOPE)
endfunction()

# build_added(OPTIONS...): headwise within another project, the core alone, for
# one instruction set: all of them take four times as long to compile.
function(build_added)
  configuring(configure from_sources ${ADDED_DIR}
    -D CMAKE_CXX_FLAGS=-DHWY_COMPILE_ONLY_STATIC
    -D BUILD_SHARED_LIBS=${ADDED_IS_SHARED} ${ARGN})
  run(${configure})
  run(${CMAKE_COMMAND} --build ${ADDED_DIR} --parallel 2 --target consumer)
endfunction()

# find_in_tree(VARIABLE TREE NAME): the path of a file, or nothing.
function(find_in_tree variable tree name)
  file(GLOB_RECURSE path ${tree}/${name})
  set(${variable} "${path}" PARENT_SCOPE)
endfunction()
