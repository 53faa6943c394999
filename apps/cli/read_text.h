// The user's text: from a file, or from standard input ("-").
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"

namespace headwise::cli {

// What messages call it: the path, or "standard input".
std::string name_of_text(const std::string& path);

// Errors: io_error; messages begin with `what`.
Result<std::string> read_text(std::string_view what, const std::string& path);

}  // namespace headwise::cli
