// The last step of a text: the tokens of one or two texts become one encoding,
// with the tokens that the model expects around them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/steps/tokens.h"
#include "headwise/tokenizer/encoding.h"
#include "headwise/version.h"
#include "interop/json_part.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// A text of the pair, or tokens that are added.
struct TemplatePiece {
  std::int8_t sequence = -1;  // 0 or 1; -1: `added`
  std::vector<TokenId> added{};
  TokenId type = 0;
};
using EncodingTemplate = std::vector<TemplatePiece>;

// What every post-processor comes to.
struct PostProcessor {
  EncodingTemplate single = {{.sequence = 0}};
  EncodingTemplate pair = {{.sequence = 0}, {.sequence = 1, .type = 1}};
  // Each takes the spaces of its texts from the offsets of tokens: all but one,
  // where the first one was added (add_prefix_space).
  std::vector<bool> trims_for_prefix_space{};
};

// The post-processor of a tokenizer.json; without one nothing is added. Errors:
// bad_data; unsupported, with the type.
Result<PostProcessor> read_post_processor(const JsonPart& part);

// What a tokenizer.json says of truncation and padding has no effect here, but
// must have its form. Errors: bad_data.
Status check_saved_truncation(const JsonPart& part);
Status check_saved_padding(const JsonPart& part);

// ids, offsets and words of a text.
struct EncodedText {
  std::string_view text;
  Encoding encoding{};
};

// The text of a token; `matched`: the part of the original text it came from.
using TokenTexts =
    std::function<std::string_view(TokenId, std::string_view matched)>;

// Cuts the texts if the options say so, and puts them together. Errors:
// invalid_argument, of `operation`, for a truncation that does not fit.
Result<Encoding> finish_encoding(const PostProcessor& post,
                                 std::string_view operation, EncodedText first,
                                 std::optional<EncodedText> second,
                                 const TokenTexts& token_text,
                                 const EncodeOptions& options);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
