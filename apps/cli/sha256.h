// The SHA-256 of a file or a text, in the digits that `sha256sum` prints.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"

namespace headwise::cli {

// Errors: io_error, `inspect: PATH: ..`.
Result<std::string> sha256_of_file(const std::string& path);

std::string sha256_of_text(std::string_view text);

}  // namespace headwise::cli
