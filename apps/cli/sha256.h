// The SHA-256 of a file, in the digits that `sha256sum` prints.
#pragma once

#include <string>

#include "headwise/base/result.h"

namespace headwise::cli {

// Errors: io_error, `inspect: PATH: ..`.
Result<std::string> sha256_of_file(const std::string& path);

}  // namespace headwise::cli
