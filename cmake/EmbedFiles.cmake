# embed_files(OUTPUT FILES...): writes the C++ source behind
# apps/cli/example_files.h: each file's bytes by its name without ending.
function(embed_files output)
  set(arrays "")
  set(lookups "")
  foreach(path IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    cmake_path(GET path STEM name)
    file(READ ${path} hex HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
    string(APPEND arrays
      "constexpr unsigned char k_${name}[] = {${bytes}};\n")
    string(APPEND lookups
      "  if (name == \"${name}\") return std::as_bytes(std::span(k_${name}));\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT
"#include \"example_files.h\"
namespace {
@arrays@}
namespace headwise::cli {
std::span<const std::byte> example_file(std::string_view name) {
@lookups@  return {};
}
}
")
endfunction()
