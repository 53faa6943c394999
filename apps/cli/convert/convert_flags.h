// The options of `headwise convert`, as typed; an empty string is an option
// that was not given.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace headwise::cli {

struct ConvertFlags {
  std::string in;
  std::string out;
  std::string to;
  std::optional<std::string> prefix;  // empty is one
  std::string layout_of;
  std::optional<std::size_t> layer;
  std::optional<std::size_t> as_layer;
  std::optional<std::size_t> heads;
  bool attention_only = false;
};

}  // namespace headwise::cli
