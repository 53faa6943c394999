// JSON that commands print.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "headwise/json/json.h"

namespace headwise::cli {

// An object that begins with its schema and the version of headwise.
Json with_schema(std::string_view schema, const Json& fields = Json::object());

// The value and a line end: on one line, or in lines with `indent` spaces for
// each level. Characters that a terminal would obey are escaped.
std::string json_text(const Json& json,
                      std::optional<std::size_t> indent = std::nullopt);

}  // namespace headwise::cli
