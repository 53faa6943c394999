// The text of ids as they are generated, up to the first stop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/steps/tokens.h"
#include "headwise/tokenizer/decode_stream.h"
#include "headwise/tokenizer/tokenizer.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

class StoppedText {
 public:
  // Both must outlive it. Null: there is no text.
  StoppedText(const Tokenizer* tokenizer, const std::vector<std::string>& stops)
      : stops_(stops) {
    if (tokenizer != nullptr) {
      stream_.emplace(*tokenizer);
    }
  }

  // What the id adds, without what may become a stop. Errors: those of
  // DecodeStream.
  Result<std::string> add(TokenId id);
  // The rest.
  Result<std::string> finish();
  bool stopped() const { return stopped_; }

 private:
  std::string taken(std::string text, bool is_last);

  const std::vector<std::string>& stops_;
  std::optional<DecodeStream> stream_{};
  std::string held_{};  // that may become a stop
  bool stopped_ = false;
};

}  // namespace headwise::inline HEADWISE_ABI
