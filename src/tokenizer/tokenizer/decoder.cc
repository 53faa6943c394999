#include "tokenizer/decoder.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "tokenizer/shared_keys.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

struct WholeTokens {
  DecoderStep step;
  bool is_open = false;
  std::string pieces{};

  Status operator()(std::vector<std::string>& tokens, Next& next) {
    if (is_open && (!tokens.empty() || next == Next::nothing)) {
      tokens.resize(std::max<std::size_t>(tokens.size(), 1));
      pieces += tokens.front();
      tokens.front() = std::exchange(pieces, {});
      is_open = false;
    }
    if (next == Next::rest_of_token) {
      next = Next::token;
      if (!tokens.empty()) {
        pieces = std::move(tokens.back());
        tokens.pop_back();
        is_open = true;
      }
    }
    return step(tokens, next);
  }
};

struct DecoderType {
  std::string_view name;
  // Keys that tell the type where none is written; none: it must be.
  std::array<std::string_view, 3> keys;
  Result<DecoderStep> (*read)(const JsonPart& part);

  bool has_keys_of(const JsonPart& part) const {
    return !keys.front().empty() &&
           std::ranges::all_of(keys, [&](std::string_view key) {
             return key.empty() || part.at(key).exists();
           });
  }
};

constexpr std::array<DecoderType, 10> kDecoderTypes = {{
    {"BPEDecoder", {"suffix"}, read_bpe_decoder},
    {"ByteLevel", {}, read_byte_level_decoder},
    {"WordPiece", {"prefix", "cleanup"}, read_wordpiece_decoder},
    {"Metaspace", {}, read_metaspace_decoder},
    {"CTC", {"pad_token", "word_delimiter_token", "cleanup"}, read_ctc_decoder},
    {"Replace", {"pattern", "content"}, read_replace_decoder},
    {"Fuse", {}, read_fuse_decoder},
    {"Strip", {"content", "start", "stop"}, read_strip_decoder},
    {"ByteFallback", {}, read_byte_fallback_decoder},
    {"SentencePiece", {}, read_sentencepiece_decoder},
}};

Result<DecoderStep> read_decoder_step(const JsonPart& part) {
  std::optional<std::string> name;
  HEADWISE_TRY(part.get("type", name));
  for (const DecoderType& type : kDecoderTypes) {
    if (name ? type.name == *name : type.has_keys_of(part)) {
      return type.read(part);
    }
  }
  return name ? part.unexpected("type", "the type of a decoder",
                                ErrorCode::unsupported)
              : part.missing("type");
}

}  // namespace

DecoderStep with_whole_tokens(DecoderStep step) {
  return WholeTokens{std::move(step)};
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

Result<std::unique_ptr<Decoder>> read_decoder(const JsonPart& part) {
  if (!part.exists()) {
    return std::unique_ptr<Decoder>();
  }
  HEADWISE_ASSIGN(const std::vector<JsonPart> parts,
                  sequence_parts(part, "decoders"));
  std::vector<DecoderStep> steps;
  for (const JsonPart& step_part : parts) {
    HEADWISE_ASSIGN(DecoderStep step, read_decoder_step(step_part));
    steps.push_back(std::move(step));
  }
  return std::make_unique<Decoder>(std::move(steps));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
