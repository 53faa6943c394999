// tiktoken's ranks: a token in base64, a space and its rank on each line. The
// file says neither how texts are split nor which special tokens there are, so
// only known vocabularies can be read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/tokenizer_spec.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Whether the first line is a token and its rank.
bool is_tiktoken(std::string_view bytes);
// Errors: bad_data; unsupported for a vocabulary that is not known, with the
// number of its ranks and those of the known ones.
Result<TokenizerSpec> parse_tiktoken(std::string_view bytes,
                                     const FileSubject& subject);

struct BytesToken {
  std::string bytes;
  std::uint32_t rank = 0;
};
// A special token, or another one with an id of its own.
struct SpecialText {
  std::string text;
  std::uint32_t id = 0;
};
// Byte-level BPE that joins the parts whose joined bytes have the lowest rank.
// `first_id` is the id of rank 0. Errors: bad_data for tokens or ids that occur
// twice.
Result<TokenizerSpec> ranks_spec(std::vector<BytesToken> tokens,
                                 std::uint32_t first_id,
                                 std::string_view pattern,
                                 const std::vector<SpecialText>& special,
                                 const FileSubject& subject);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
