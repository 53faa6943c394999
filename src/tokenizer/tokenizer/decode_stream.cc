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
  State(const Tokenizer& of, bool skips_special)
      : source(of), skip_special_tokens(skips_special) {
    start();
  }

  void start() {
    decoder.reset();
    if (source.decoder() != nullptr) {
      decoder.emplace(source.decoder()->stream());
    }
    is_first = true;
  }

  Result<std::string> decode(std::vector<std::string> tokens,
                             tokenizer::Next next) {
    if (decoder) {
      HEADWISE_TRY(decoder->apply(tokens, next));
    }
    std::string text;
    for (const std::string& token : tokens) {
      // Without a decoder, spaces join the tokens.
      text += !decoder && !std::exchange(is_first, false) ? " " : "";
      text += token;
    }
    return text;
  }

  const Tokenizer& source;
  bool skip_special_tokens;
  std::optional<tokenizer::DecoderStream> decoder{};
  bool is_first = true;
};

DecodeStream::DecodeStream(const Tokenizer& tokenizer, bool skip_special_tokens)
    : state_(std::make_unique<State>(tokenizer, skip_special_tokens)) {}

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
