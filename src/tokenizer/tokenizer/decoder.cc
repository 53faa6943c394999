#include "tokenizer/decoder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <optional>

#include "tokenizer/shared_keys.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using DecoderType = PartType<Result<DecoderStep>(const JsonPart&)>;

constexpr std::array kDecoderTypes = {
    DecoderType{"BPEDecoder", read_bpe_decoder, {"suffix"}},
    DecoderType{"ByteLevel", read_byte_level_decoder},
    DecoderType{"WordPiece", read_wordpiece_decoder, {"prefix", "cleanup"}},
    DecoderType{"Metaspace", read_metaspace_decoder},
    DecoderType{"CTC",
                read_ctc_decoder,
                {"pad_token", "word_delimiter_token", "cleanup"}},
    DecoderType{"Replace", read_replace_decoder, {"pattern", "content"}},
    DecoderType{"Fuse", read_fuse_decoder},
    DecoderType{"Strip", read_strip_decoder, {"content", "start", "stop"}},
    DecoderType{"ByteFallback", read_byte_fallback_decoder},
    DecoderType{"SentencePiece", read_sentencepiece_decoder}};

}  // namespace

std::string joined(const std::vector<std::string>& tokens) {
  return std::accumulate(tokens.begin(), tokens.end(), std::string());
}

DecoderStep with_whole_tokens(DecoderStep step) {
  return [step = std::move(step), begun = std::optional<std::string>()](
             std::vector<std::string>& tokens, Next& next) mutable {
    if (begun && (!tokens.empty() || next == Next::nothing)) {
      tokens.resize(std::max<std::size_t>(tokens.size(), 1));
      *begun += tokens.front();
      tokens.front() = *std::exchange(begun, {});
    }
    if (next == Next::rest_of_token) {
      next = Next::token;
      if (!tokens.empty()) {
        begun = std::move(tokens.back());
        tokens.pop_back();
      }
    }
    return step(tokens, next);
  };
}

Status Decoder::apply(std::vector<std::string>& tokens) const {
  return Decoder(*this).stream(tokens, Next::nothing);
}

Status Decoder::stream(std::vector<std::string>& tokens, Next next) {
  for (const DecoderStep& step : steps_) {
    HEADWISE_TRY(step(tokens, next));
  }
  return ok();
}

Result<Decoder> read_decoder(const JsonPart& part) {
  std::vector<DecoderStep> steps;
  if (!part.exists()) {  // spaces join the tokens
    steps.emplace_back([is_first = true](auto& tokens, Next&) mutable {
      for (std::string& token : tokens) {
        token.insert(0, std::exchange(is_first, false) ? "" : " ");
      }
      return ok();
    });
    return Decoder(std::move(steps));
  }
  HEADWISE_ASSIGN(const auto parts, sequence_parts(part, "decoders"));
  for (const JsonPart& one : parts) {
    HEADWISE_ASSIGN(const auto* const type, type_of(one, kDecoderTypes));
    HEADWISE_ASSIGN(steps.emplace_back(), type->read(one));
  }
  return Decoder(std::move(steps));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
