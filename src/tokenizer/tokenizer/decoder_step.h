// One step of a decoder: gets the tokens of the step before, piece by piece,
// and remembers what it needs of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// What comes after the tokens of a call.
enum class Next {
  nothing,        // the text ends
  token,          // other tokens
  rest_of_token,  // more of the last token
};

class DecoderStep {
 public:
  virtual ~DecoderStep() = default;

  // The same step at the same place of another stream.
  virtual std::unique_ptr<DecoderStep> copy() const = 0;
  // Changes the next tokens, and says what comes after those. If the call
  // before had rest_of_token, the first one is that rest (it may be empty).
  virtual Status apply(std::vector<std::string>& tokens, Next& next) = 0;
};

// A step that needs whole tokens: pieces of a token wait for its end.
class WholeTokenStep : public DecoderStep {
 public:
  Status apply(std::vector<std::string>& tokens, Next& next) final;

 private:
  // `next` is not rest_of_token, but may become it.
  virtual Status change(std::vector<std::string>& tokens, Next& next) = 0;

  bool is_open_ = false;
  std::string pieces_;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
