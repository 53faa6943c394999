# What every target of the project has in common.

# headwise_target(NAME [LIBRARY]): the language, the arithmetic
# (docs/arithmetic.md), the warnings and the sanitizers of one target.
function(headwise_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LIBRARY" "" "")
  target_compile_features(${name} PUBLIC cxx_std_20)
  set_target_properties(${name} PROPERTIES
    CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:
    -ffp-contract=off
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    $<$<BOOL:${HEADWISE_WERROR}>:-Werror>>)
  if(HEADWISE_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
     AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # It warns of std::string's + (bug 105651), and of a precompiled header it no
    # longer knows that this is the system's.
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:
      -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow>)
  endif()
  if(HEADWISE_UNITY)
    # A local constant may have the name of another source's; g++ takes a source of a
    # unity build for a header.
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:
      -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>>)
  endif()
  foreach(component core files tokenizer ranks mpi view models onnx)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src/${component})
  endforeach()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    # A sixth of the time to compile the kernels, for processors of 2006 to 2008.
    # They run the instructions of every x86-64 (docs/decisions/029-build-time.md).
    target_compile_definitions(${name} PRIVATE "HWY_DISABLED_TARGETS=HWY_SSSE3")
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    # The kernels keep vectors in arrays, which vectors of no fixed size can't
    # be kept in.
    target_compile_definitions(${name} PRIVATE
      "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
  endif()
  if(NOT HEADWISE_SANITIZE)
    # In release builds an overwritten return address or buffer ends the program, and
    # the linker's tables cannot be written (tests/install/hardened_test.py).
    set(release $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
    target_compile_options(${name} PRIVATE
      $<$<AND:$<COMPILE_LANGUAGE:CXX>,${release}>:-fstack-protector-strong
      -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>)
    target_link_options(${name} PRIVATE $<${release}:LINKER:-z,relro,-z,now>)
  endif()
  if(HEADWISE_SANITIZE)
    # With a sanitizer GCC warns of members of an empty optional.
    target_compile_options(${name} PRIVATE
      -fsanitize=${HEADWISE_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all
      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(${name} PUBLIC -fsanitize=${HEADWISE_SANITIZE})
  endif()
  if(HEADWISE_SANITIZE MATCHES "undefined" AND NOT arg_LIBRARY
     AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Saves a fifth of the compile time. The address sanitizer still finds a bad
    # pointer when it is used (docs/decisions/013-tests-in-ci.md).
    target_compile_options(${name} PRIVATE
      -fno-sanitize=alignment,null,object-size,vptr
      "SHELL:-mllvm -inline-threshold=25")
  endif()
endfunction()

# headwise_precompile(NAME HEADERS...): these headers and those of the standard
# library that most sources include are parsed once.
function(headwise_precompile name)
  if(NOT HEADWISE_PCH)
    return()
  endif()
  if(name MATCHES "^headwise_(files|tokenizer|ranks|view|models|onnx)$")
    # All components have the same flags but for folders of headers.
    if(NOT TARGET headwise_precompiled)
      file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/precompiled.cc CONTENT "")
      add_library(headwise_precompiled OBJECT EXCLUDE_FROM_ALL
        ${CMAKE_CURRENT_BINARY_DIR}/precompiled.cc)
      headwise_library(headwise_precompiled)
      headwise_precompile(headwise_precompiled)
    endif()
    target_precompile_headers(${name} REUSE_FROM headwise_precompiled)
    return()
  endif()
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <cmath> <cstddef> <cstdint> <cstring> <functional>
    <limits> <map> <memory> <optional> <span> <string> <string_view> <utility>
    <variant> <vector> ${ARGN})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # For ccache: else each build's header would be another.
    target_compile_options(${name} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endfunction()

# headwise_unity_group(GROUP SIZE SOURCES...): compiles these sources at most SIZE at a
# time, as one: the compiler reads their headers and instantiates their templates
# once. Names in the unnamed namespaces of a room are therefore unique (tests/tools).
function(headwise_unity_group group size)
  list(LENGTH ARGN count)
  math(EXPR groups "(${count} + ${size} - 1) / ${size}")
  set(number 0)
  foreach(source IN LISTS ARGN)
    math(EXPR part "${number} * ${groups} / ${count}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${part})
    math(EXPR number "${number} + 1")
  endforeach()
endfunction()

# headwise_unity(NAME SIZE): the same for each room, src/NAME/ROOM, of a library. Kernels
# stay apart.
function(headwise_unity name size)
  get_target_property(sources ${name} SOURCES)
  set(rooms "")
  foreach(source IN LISTS sources)
    if(source MATCHES "^([a-z]+)/.*\\.cc$" AND NOT CMAKE_MATCH_1 STREQUAL "kernels")
      list(APPEND rooms ${CMAKE_MATCH_1})
      list(APPEND sources_${CMAKE_MATCH_1} ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  foreach(room IN LISTS rooms)
    headwise_unity_group(${room} ${size} ${sources_${room}})
  endforeach()
  set_target_properties(${name} PROPERTIES
    UNITY_BUILD ${HEADWISE_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()

# headwise_library(NAME): a target that others link; 0.x breaks with each minor
# version. Shared, it exports what exports.map.in lists.
function(headwise_library name)
  headwise_target(${name} LIBRARY)
  set_target_properties(${name} PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
    ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
    CXX_VISIBILITY_PRESET hidden
    CUDA_VISIBILITY_PRESET hidden
    DEFINE_SYMBOL ""  # shared or static: ccache gives the same objects to both
    VISIBILITY_INLINES_HIDDEN ON)
  if(BUILD_SHARED_LIBS)
    set(namespace v${PROJECT_VERSION_MAJOR}_${PROJECT_VERSION_MINOR})
    string(LENGTH ${namespace} length)
    set(mangled ${length}${namespace})
    set(map ${PROJECT_BINARY_DIR}/exports.map)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/exports.map.in ${map} @ONLY)
    # A library that does not link what it uses would need another component.
    target_link_options(${name} PRIVATE
      LINKER:--version-script=${map} $<$<NOT:$<BOOL:${HEADWISE_SANITIZE}>>:LINKER:--no-undefined>)
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${map})
  endif()
endfunction()

# headwise_internals(NAME): NAME_internals, a static library of NAME's objects for
# tests and programs of this project that use what a shared NAME hides. Of a
# static build it is NAME itself.
function(headwise_internals name)
  if(NOT BUILD_SHARED_LIBS)
    add_library(${name}_internals ALIAS ${name})
    return()
  endif()
  add_library(${name}_internals STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${name}>)
  set_target_properties(${name}_internals PROPERTIES
    ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
    LINKER_LANGUAGE CXX)
  target_compile_features(${name}_internals INTERFACE cxx_std_20)
  target_include_directories(${name}_internals
    INTERFACE ${PROJECT_SOURCE_DIR}/include)
  get_target_property(libraries ${name} LINK_LIBRARIES)
  list(TRANSFORM libraries REPLACE "^headwise(_[a-z]+)?$" "\\0_internals")
  target_link_libraries(${name}_internals PRIVATE ${libraries})
endfunction()
