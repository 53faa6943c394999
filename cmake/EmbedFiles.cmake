# embed_files(OUTPUT HEADER FUNCTION FILES...): writes the C++ source behind a
# header that declares
#
#   std::span<const std::byte> FUNCTION(std::string_view name);
#
# FUNCTION with its namespace: each file's bytes by its name.
function(embed_files output header function)
  string(REGEX MATCH "^(.*)::([^:]*)$" matched ${function})
  set(namespace ${CMAKE_MATCH_1})
  set(function ${CMAKE_MATCH_2})
  set(arrays "")
  set(lookups "")
  set(number 0)
  foreach(path IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    cmake_path(GET path FILENAME name)
    file(READ ${path} hex HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
    string(APPEND arrays
      "constexpr unsigned char k_${number}[] = {${bytes}};\n")
    string(APPEND lookups
      "  if (name == \"${name}\") return std::as_bytes(std::span(k_${number}));\n")
    math(EXPR number "${number} + 1")
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT
"#include \"@header@\"
namespace {
@arrays@}
namespace @namespace@ {
std::span<const std::byte> @function@(std::string_view name) {
@lookups@  return {};
}
}
")
endfunction()
