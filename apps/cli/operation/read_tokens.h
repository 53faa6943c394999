// Reads a ragged batch of token ids from a file, or from standard input ("-"):
// JSON, [[62, 13], [60]], or text, one sequence a line, the ids parted by
// spaces or commas (an empty line is an empty sequence).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/steps/tokens.h"

namespace headwise::cli {

// More are an error: an empty one is a byte of text, but 24 of memory.
constexpr std::size_t kMostSequences = std::size_t{1} << 20;

// Errors: io_error; bad_data with the place: the line, or the sequence and the
// position. Memory: at most 16 times the text and 16 MiB.
Result<RaggedTokens> read_tokens(const std::string& path);
// `name` is what messages call the source.
Result<RaggedTokens> parse_tokens(std::string_view text, std::string_view name);

}  // namespace headwise::cli
