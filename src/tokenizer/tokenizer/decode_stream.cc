#include "headwise/tokenizer/decode_stream.h"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/out_of_memory.h"
#include "tokenizer/decoder.h"

namespace headwise::inline HEADWISE_ABI {

struct DecodeStream::State {
  const Tokenizer& source;
  bool skip_special_tokens;
  std::optional<tokenizer::Decoder> decoder{};
  bool is_first = true;

  void start() {
    is_first = true;
    decoder.reset();
    if (source.decoder() != nullptr) {
      decoder = *source.decoder();
    }
  }

  Result<std::string> decode(std::vector<std::string> tokens,
                             tokenizer::Next next) {
    if (decoder) {
      HEADWISE_TRY(decoder->stream(tokens, next));
    }
    std::string text;
    for (const std::string& token : tokens) {
      // Without a decoder, spaces join the tokens.
      text += decoder || is_first ? "" : " ";
      text += token;
      is_first = false;
    }
    return text;
  }
};

DecodeStream::DecodeStream(const Tokenizer& tokenizer, bool skip_special_tokens)
    : state_(std::make_unique<State>(State{tokenizer, skip_special_tokens})) {
  state_->start();
}

Result<std::string> DecodeStream::step(TokenId id) {
  return catching_out_of_memory([&]() -> Result<std::string> {
    const std::optional<std::string_view> token = state_->source.token(id);
    if (!token ||
        (state_->skip_special_tokens && state_->source.is_special(id))) {
      return std::string();
    }
    Result<std::string> text =
        state_->decode({std::string(*token)}, tokenizer::Next::token);
    if (!text) {
      state_->start();
    }
    return text;
  });
}

Result<std::string> DecodeStream::finish() {
  return catching_out_of_memory([&]() -> Result<std::string> {
    Result<std::string> text = state_->decode({}, tokenizer::Next::nothing);
    state_->start();
    return text;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
