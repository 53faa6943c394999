// JSON that commands print. Keys stay in the order in which they are set.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace headwise::cli {

using Json = nlohmann::ordered_json;

// The value and a line end: on one line, or in lines with `indent` spaces for
// each level. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(const Json& json, int indent = -1);

}  // namespace headwise::cli

// No value is null.
template <class T>
struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(headwise::cli::Json& json,
                      const std::optional<T>& value) {
    json = value ? headwise::cli::Json(*value) : headwise::cli::Json();
  }
};
