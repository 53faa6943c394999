// The way back: what decoders make of the texts of tokens, all at once or as
// they come. Both go the same way, so a stream has the text of the whole.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/decoder_steps.h"
#include "tokenizer/json_part.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

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

// The decoder of a tokenizer.json; null if it has none. Errors: bad_data;
// unsupported, with the type.
Result<std::unique_ptr<Decoder>> read_decoder(const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
