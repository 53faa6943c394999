# The components: libraries next to the core, each of which can be built without those
# it does not link (HEADWISE_COMPONENTS).
#
#   files      .npy, .npz, .safetensors, parameters, dialects
#   tokenizer  texts to the ids of their tokens, and back          (files)
#   ranks      one call computed by several processes
#   view       traces, pictures and the page of all heads          (files)
#   models     models of every family, training, pruning, heads   (tokenizer, view,
#                                                                   ranks)
#   onnx       models of ONNX; a stub with files alone             (files)
#
# headwise::io is all of them but onnx.

# headwise_with_needed(VARIABLE COMPONENTS...): these and what they link, in the order
# above.
function(headwise_with_needed variable)
  set(wanted ${ARGN})
  if("models" IN_LIST wanted)
    list(APPEND wanted tokenizer view ranks)
  endif()
  if("tokenizer" IN_LIST wanted OR "view" IN_LIST wanted OR "onnx" IN_LIST wanted)
    list(APPEND wanted files)
  endif()
  set(all files tokenizer ranks view models onnx)
  foreach(name IN LISTS ARGN)
    if(NOT name IN_LIST all)
      list(JOIN all ", " expected)
      message(FATAL_ERROR "HEADWISE_COMPONENTS has \"${name}\", expected some of "
        "${expected}.")
    endif()
  endforeach()
  set(result "")
  foreach(name IN LISTS all)
    if(name IN_LIST wanted)
      list(APPEND result ${name})
    endif()
  endforeach()
  set(${variable} "${result}" PARENT_SCOPE)
endfunction()

# headwise_component(NAME [LINKS TARGETS...] [PRIVATE TARGETS...] [MODULES PACKAGES...]
#                    [HEADERS FILES...] [LEFT_OUT FILES...]): the library
# headwise::NAME of the folder src/NAME; the core's is headwise::headwise. It is
# everything in the rooms, the folders there: ROOM/**.cc, and the public headers
# include/headwise/ROOM/*.h, but for files LEFT_OUT. HEADERS are public headers of
# other folders. MODULES are packages of pkg-config: Debian's CMake package of libzip
# wants its command line tools installed as well.
function(headwise_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" ""
    "LINKS;PRIVATE;MODULES;HEADERS;LEFT_OUT")
  set(target headwise_${name})
  set(export_name ${name})
  if(name STREQUAL "core")
    set(target headwise)
    set(export_name headwise)
  endif()
  set(include ${PROJECT_SOURCE_DIR}/include)
  file(GLOB rooms RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *)
  list(FILTER rooms EXCLUDE REGEX "[.]")  # files
  set(sources "")
  set(headers ${arg_HEADERS})
  foreach(room IN LISTS rooms)
    file(GLOB_RECURSE of_room RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS
      ${room}/*.cc ${room}/*.cu)
    list(APPEND sources ${of_room})
    if(NOT arg_HEADERS OR name STREQUAL "core")
      file(GLOB of_room RELATIVE ${include}/headwise CONFIGURE_DEPENDS
        ${include}/headwise/${room}/*.h)
      list(APPEND headers ${of_room})
    endif()
  endforeach()
  list(REMOVE_ITEM sources ${arg_LEFT_OUT} "")
  list(REMOVE_ITEM headers ${arg_LEFT_OUT} "")
  list(TRANSFORM headers PREPEND ${include}/headwise/)

  add_library(${target})
  add_library(headwise::${export_name} ALIAS ${target})
  headwise_library(${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${export_name})
  target_sources(${target}
    PUBLIC FILE_SET HEADERS BASE_DIRS ${include} FILES ${headers}
    PRIVATE ${sources})
  target_link_libraries(${target} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE})
  if(arg_MODULES)
    find_package(PkgConfig REQUIRED)
  endif()
  foreach(module IN LISTS arg_MODULES)
    if(NOT TARGET PkgConfig::headwise_${module})
      pkg_check_modules(headwise_${module} REQUIRED IMPORTED_TARGET GLOBAL ${module})
    endif()
    target_link_libraries(${target} PRIVATE PkgConfig::headwise_${module})
  endforeach()
  set_target_properties(${target} PROPERTIES HEADWISE_MODULES "${arg_MODULES}")
  if(NOT name STREQUAL "mpi")  # whose few files have other flags
    headwise_precompile(${target})
  endif()
  headwise_unity(${target} 16)
  headwise_internals(${target})
endfunction()

include(EmbedFiles)
if(HEADWISE_COMPONENTS)
  headwise_with_needed(headwise_components ${HEADWISE_COMPONENTS})
elseif(HEADWISE_IO)
  set(onnx "")
  if(HEADWISE_ONNX)
    set(onnx onnx)
  endif()
  headwise_with_needed(headwise_components models ${onnx})
else()
  set(headwise_components "")
endif()

# The libraries of all of headwise_components.
macro(headwise_add_components)
  if("files" IN_LIST headwise_components)
    add_subdirectory(src/files)
    add_subdirectory(src/onnx)
  endif()
  if("tokenizer" IN_LIST headwise_components)
    add_subdirectory(src/tokenizer)
  endif()
  if("ranks" IN_LIST headwise_components)
    add_subdirectory(src/ranks)
    add_subdirectory(src/mpi)
  endif()
  if("view" IN_LIST headwise_components)
    add_subdirectory(src/view)
  endif()
  if("models" IN_LIST headwise_components)  # which links all of headwise::io
    add_subdirectory(src/models)
    add_library(headwise_io INTERFACE)
    add_library(headwise::io ALIAS headwise_io)
    set_target_properties(headwise_io PROPERTIES EXPORT_NAME io)
    target_sources(headwise_io INTERFACE FILE_SET HEADERS
      BASE_DIRS ${PROJECT_SOURCE_DIR}/include
      FILES ${PROJECT_SOURCE_DIR}/include/headwise/io.h)
    target_link_libraries(headwise_io INTERFACE headwise_models)
    add_library(headwise_io_internals INTERFACE)
    target_link_libraries(headwise_io_internals INTERFACE headwise_models_internals)
  endif()
endmacro()
