// The way back: what decoders make of the texts of tokens.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/json_part.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

class Decoder {
 public:
  virtual ~Decoder() = default;

  // Changes the texts of consecutive tokens; joined, they are the decoded text.
  // May be called by several threads at once. Errors: a regular expression that
  // reached its limits.
  virtual Status apply(std::vector<std::string>& tokens) const = 0;
};

// The decoder of a tokenizer.json; null if it has none. Errors: bad_data;
// unsupported, with the type.
Result<std::unique_ptr<Decoder>> read_decoder(const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
