#include "headwise/tokenizer/decode_stream.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/out_of_memory.h"
#include "tokenizer/decoder.h"

namespace headwise::inline HEADWISE_ABI {

struct DecodeStream::State {
  const Tokenizer& source;
  bool skip_special_tokens;
  tokenizer::Decoder decoder = source.decoder();

  Result<std::string> decode(std::vector<std::string> tokens,
                             tokenizer::Next next) {
    const Status done = decoder.stream(tokens, next);
    if (!done || next == tokenizer::Next::nothing) {
      decoder = source.decoder();
    }
    HEADWISE_TRY(done);
    return tokenizer::joined(tokens);
  }
};

DecodeStream::DecodeStream(const Tokenizer& tokenizer, bool skip_special_tokens)
    : state_(std::make_unique<State>(State{tokenizer, skip_special_tokens})) {}

Result<std::string> DecodeStream::step(TokenId id) {
  return catching_out_of_memory([&]() -> Result<std::string> {
    const std::optional<std::string_view> token = state_->source.token(id);
    if (!token ||
        (state_->skip_special_tokens && state_->source.is_special(id))) {
      return std::string();
    }
    return state_->decode({std::string(*token)}, tokenizer::Next::token);
  });
}

Result<std::string> DecodeStream::finish() {
  return catching_out_of_memory([&]() -> Result<std::string> {
    return state_->decode({}, tokenizer::Next::nothing);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
