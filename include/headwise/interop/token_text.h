// A ragged batch of token ids as text:
//
//   JSON    [[62, 13], [60]]
//   lines   one sequence per line, ids separated by spaces or commas; an empty
//           line is an empty sequence
//
// A text that begins with [ is JSON. A byte order mark is skipped.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// More sequences are an error, because an empty one takes 1 byte of text but 24
// bytes of memory.
inline constexpr std::size_t kMostSequences = std::size_t{1} << 20;

// `name`: what messages call the text. Takes at most 16 times the size of the
// text plus 16 MiB of memory. Errors: bad_data, with the line, or the sequence
// and the position; out_of_memory.
//   tokens: ids.txt: line 3 has "x", which is not a token id, expected ...
Result<RaggedTokens> parse_tokens(std::string_view text, std::string_view name);

// The lines of any text, without their ends, LF or CR LF; the end of the last
// one begins no other. Views of the text; a byte order mark is skipped.
std::vector<std::string_view> text_lines(std::string_view text);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
