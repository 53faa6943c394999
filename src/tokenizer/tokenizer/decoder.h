// The way back: what decoders make of the texts of tokens, all at once or as
// they come. Both go the same way, so a stream has the text of the whole.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/decoder_step.h"
#include "tokenizer/json_part.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

using DecoderSteps = std::vector<std::unique_ptr<DecoderStep>>;

class DecoderStream {
 public:
  explicit DecoderStream(DecoderSteps steps) : steps_(std::move(steps)) {}

  // `tokens` are the next ones; joined, they become the next part of the text.
  // Errors: a regular expression that reached its limits.
  Status apply(std::vector<std::string>& tokens, Next next);

 private:
  DecoderSteps steps_;
};

class Decoder {
 public:
  explicit Decoder(DecoderSteps steps) : steps_(std::move(steps)) {}

  DecoderStream stream() const;
  // Changes all tokens of a text; joined, they are the text. May be called by
  // several threads at once. Errors: a regular expression that reached its
  // limits.
  Status apply(std::vector<std::string>& tokens) const;

 private:
  DecoderSteps steps_;  // at the start of a stream
};

// The decoder of a tokenizer.json; null if it has none. Errors: bad_data;
// unsupported, with the type.
Result<std::unique_ptr<Decoder>> read_decoder(const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
