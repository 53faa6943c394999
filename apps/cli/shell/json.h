// JSON that commands print.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headwise/json/json.h"

namespace headwise::cli {

// The value and a line end: on one line, or in lines with `indent` spaces for
// each level. Characters that a terminal would obey are escaped.
std::string json_text(const Json& json,
                      std::optional<std::size_t> indent = std::nullopt);

}  // namespace headwise::cli
