// The user's text: from a file, or from standard input ("-").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"

namespace headwise::cli {

// What messages call it: the path, or "standard input".
std::string name_of_text(const std::string& path);

// Errors: io_error; messages begin with `what`.
Result<std::string> read_text(std::string_view what, const std::string& path);

// The lines without their ends, LF or CR LF; the end of the last one begins no
// other. Views of the text, but for a byte order mark.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace headwise::cli
