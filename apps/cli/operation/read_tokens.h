// Reads a ragged batch of token ids from a file, or from standard input ("-").
#pragma once

#include <string>

#include "headwise/base/result.h"
#include "headwise/steps/tokens.h"

namespace headwise::cli {

// Errors: io_error; those of parse_tokens().
Result<RaggedTokens> read_tokens(const std::string& path);

}  // namespace headwise::cli
