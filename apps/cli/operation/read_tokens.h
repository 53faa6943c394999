// Reads a ragged batch of token ids from a file, or from standard input ("-").
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/steps/tokens.h"

namespace headwise::cli {

// `option` names the file. Errors: io_error, about the option; those of
// parse_tokens().
Result<RaggedTokens> read_tokens(std::string_view option,
                                 const std::string& path);

// 5,17,3, or a file as above.
Result<RaggedTokens> read_ids_or_file(std::string_view option,
                                      const std::string& given);

}  // namespace headwise::cli
