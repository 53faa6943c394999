// The way back: what decoders make of the texts of tokens, all at once or as
// they come. Both go the same way, so a stream has the text of the whole.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "interop/json_part.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// What comes after the tokens of a call.
enum class Next {
  nothing,        // the text ends
  token,          // other tokens
  rest_of_token,  // more of the last token
};

// Changes the next tokens, and says what comes after those. If the call before
// had rest_of_token, the first one is that rest (it may be empty). A step
// remembers what it needs of the tokens before.
using DecoderStep = std::function<Status(std::vector<std::string>&, Next&)>;

class Decoder {
 public:
  explicit Decoder(std::vector<DecoderStep> steps) : steps_(std::move(steps)) {}

  // Changes all tokens of a text; joined, they are the text. May be called by
  // several threads at once. Errors: a regular expression that reached its
  // limits.
  Status apply(std::vector<std::string>& tokens) const;
  // Takes the tokens as they come. Copy the decoder: it remembers them.
  Status stream(std::vector<std::string>& tokens, Next next);

 private:
  std::vector<DecoderStep> steps_;
};

std::string joined(const std::vector<std::string>& tokens);

// The decoder of a tokenizer.json; without one, spaces join the tokens. Errors:
// bad_data; unsupported, with the type.
Result<Decoder> read_decoder(const JsonPart& part);

// Lets pieces of a token wait for its end, for a step that needs whole ones.
DecoderStep with_whole_tokens(DecoderStep step);

Result<DecoderStep> read_bpe_decoder(const JsonPart& part);
Result<DecoderStep> read_byte_fallback_decoder(const JsonPart& part);
Result<DecoderStep> read_byte_level_decoder(const JsonPart& part);
Result<DecoderStep> read_ctc_decoder(const JsonPart& part);
Result<DecoderStep> read_fuse_decoder(const JsonPart& part);
Result<DecoderStep> read_metaspace_decoder(const JsonPart& part);
Result<DecoderStep> read_replace_decoder(const JsonPart& part);
Result<DecoderStep> read_sentencepiece_decoder(const JsonPart& part);
Result<DecoderStep> read_strip_decoder(const JsonPart& part);
Result<DecoderStep> read_wordpiece_decoder(const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
