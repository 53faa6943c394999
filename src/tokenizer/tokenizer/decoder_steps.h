// The steps of a decoder: each gets the tokens of the one before, piece by
// piece, and remembers what it needs of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/json_part.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// What comes after the tokens of a call.
enum class Next {
  nothing,        // the text ends
  token,          // other tokens
  rest_of_token,  // more of the last token
};

// Changes the next tokens, and says what comes after those. If the call before
// had rest_of_token, the first one is that rest (it may be empty).
using DecoderStep = std::function<Status(std::vector<std::string>&, Next&)>;

// Lets pieces of a token wait for its end, for a step that needs whole ones.
DecoderStep with_whole_tokens(DecoderStep step);

// One for each type.
Result<DecoderStep> read_bpe_decoder(const JsonPart& part);
Result<DecoderStep> read_byte_fallback_decoder(const JsonPart& part);
Result<DecoderStep> read_sentencepiece_decoder(const JsonPart& part);
Result<DecoderStep> read_byte_level_decoder(const JsonPart& part);
Result<DecoderStep> read_ctc_decoder(const JsonPart& part);
Result<DecoderStep> read_fuse_decoder(const JsonPart& part);
Result<DecoderStep> read_metaspace_decoder(const JsonPart& part);
Result<DecoderStep> read_replace_decoder(const JsonPart& part);
Result<DecoderStep> read_strip_decoder(const JsonPart& part);
Result<DecoderStep> read_wordpiece_decoder(const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
