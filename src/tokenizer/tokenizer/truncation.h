// How many tokens of one or two texts fit, and the parts of a text that does
// not.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/tokenizer/encoding.h"
#include "headwise/version.h"
#include "tokenizer/json_part.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

struct KeptTokens {
  std::size_t first = 0;
  std::size_t second = 0;
};

// How many tokens each text keeps, from their numbers of tokens and from that
// of the tokens that are added. Errors: invalid_argument, of `operation`.
Result<KeptTokens> kept_tokens(std::string_view operation,
                               const Truncation& truncation, std::size_t first,
                               std::optional<std::size_t> second,
                               std::size_t added);

// The tokens [begin, end) of a text.
struct TokenRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};

// The parts of a text that keeps `kept` of its tokens, the kept one first. If
// it keeps none, that is the only part. Errors: as above.
Result<std::vector<TokenRange>> token_parts(std::string_view operation,
                                            const Truncation& truncation,
                                            std::size_t tokens,
                                            std::size_t kept);

// What a tokenizer.json says of truncation and padding has no effect here, but
// must have its form. Errors: bad_data.
Status check_saved_truncation(const JsonPart& part);
Status check_saved_padding(const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
