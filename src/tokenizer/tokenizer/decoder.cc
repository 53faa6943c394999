#include "tokenizer/decoder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "patterns/pattern.h"
#include "tokenizer/byte_decoders.h"
#include "tokenizer/replace_decoders.h"
#include "tokenizer/shared_keys.h"
#include "tokenizer/text_decoders.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using ReadStep = Result<std::unique_ptr<DecoderStep>>;

ReadStep read_bpe_step(const JsonPart& part) {
  std::string suffix;
  HEADWISE_TRY(part.require("suffix", suffix));
  return bpe_decoder(std::move(suffix));
}

ReadStep read_byte_level_step(const JsonPart& part) {
  HEADWISE_TRY(read_byte_level(part));
  return byte_level_decoder();
}

ReadStep read_wordpiece_step(const JsonPart& part) {
  std::string prefix;
  bool cleans_up = false;
  HEADWISE_TRY(part.require("prefix", prefix));
  HEADWISE_TRY(part.require("cleanup", cleans_up));
  return wordpiece_decoder(std::move(prefix), cleans_up);
}

ReadStep read_metaspace_step(const JsonPart& part) {
  HEADWISE_ASSIGN(const MetaspaceKeys keys, read_metaspace(part));
  std::string space;
  append_character(space, keys.replacement);
  return metaspace_decoder(std::move(space),
                           keys.scheme != PrependScheme::never);
}

ReadStep read_ctc_step(const JsonPart& part) {
  CtcOptions options;
  HEADWISE_TRY(part.require("pad_token", options.pad));
  HEADWISE_TRY(part.require("word_delimiter_token", options.word_delimiter));
  HEADWISE_TRY(part.require("cleanup", options.cleans_up));
  return ctc_decoder(std::move(options));
}

ReadStep read_replace_step(const JsonPart& part) {
  std::string content;
  HEADWISE_TRY(part.require("content", content));
  const JsonPart pattern = part.at("pattern");
  if (!pattern.exists()) {
    return part.missing("pattern");
  }
  std::optional<std::string> text;
  std::optional<std::string> expression;
  HEADWISE_TRY(pattern.get("String", text));
  HEADWISE_TRY(pattern.get("Regex", expression));
  if (text.has_value() == expression.has_value()) {
    return part.unexpected("pattern", "String or Regex, with a text");
  }
  if (text) {
    return text->empty() ? replace_decoder(Pattern::literal(*text), content)
                         : replace_decoder(*text, content);
  }
  HEADWISE_ASSIGN(Pattern compiled, Pattern::compile(*expression));
  return replace_decoder(std::move(compiled), content);
}

ReadStep read_fuse_step(const JsonPart& /*part*/) { return fuse_decoder(); }

ReadStep read_strip_step(const JsonPart& part) {
  char32_t content = 0;
  StripOptions options;
  HEADWISE_TRY(part.require("content", content));
  HEADWISE_TRY(part.require("start", options.start));
  HEADWISE_TRY(part.require("stop", options.stop));
  append_character(options.content, content);
  return strip_decoder(std::move(options));
}

ReadStep read_byte_fallback_step(const JsonPart& /*part*/) {
  return byte_fallback_decoder();
}

struct StepType {
  std::string_view name;
  // Keys that tell the type where none is written; none: it must be.
  std::array<std::string_view, 3> keys;
  ReadStep (*read)(const JsonPart& part);
};

constexpr std::array<StepType, 9> kStepTypes = {{
    {"BPEDecoder", {"suffix"}, read_bpe_step},
    {"ByteLevel", {}, read_byte_level_step},
    {"WordPiece", {"prefix", "cleanup"}, read_wordpiece_step},
    {"Metaspace", {}, read_metaspace_step},
    {"CTC", {"pad_token", "word_delimiter_token", "cleanup"}, read_ctc_step},
    {"Replace", {"pattern", "content"}, read_replace_step},
    {"Fuse", {}, read_fuse_step},
    {"Strip", {"content", "start", "stop"}, read_strip_step},
    {"ByteFallback", {}, read_byte_fallback_step},
}};

bool has_step_keys(const JsonPart& part, const StepType& type) {
  return !type.keys.front().empty() &&
         std::ranges::all_of(type.keys, [&](std::string_view key) {
           return key.empty() || part.at(key).exists();
         });
}

ReadStep read_step(const JsonPart& part) {
  std::optional<std::string> name;
  HEADWISE_TRY(part.get("type", name));
  for (const StepType& type : kStepTypes) {
    if (name ? type.name == *name : has_step_keys(part, type)) {
      return type.read(part);
    }
  }
  return name ? part.unexpected("type", "the type of a decoder",
                                ErrorCode::unsupported)
              : part.missing("type");
}

}  // namespace

Status DecoderStream::apply(std::vector<std::string>& tokens, Next next) {
  for (const auto& step : steps_) {
    HEADWISE_TRY(step->apply(tokens, next));
  }
  return ok();
}

DecoderStream Decoder::stream() const {
  DecoderSteps steps;
  for (const auto& step : steps_) {
    steps.push_back(step->copy());
  }
  return DecoderStream(std::move(steps));
}

Status Decoder::apply(std::vector<std::string>& tokens) const {
  return stream().apply(tokens, Next::nothing);
}

Result<std::unique_ptr<Decoder>> read_decoder(const JsonPart& part) {
  if (!part.exists()) {
    return std::unique_ptr<Decoder>();
  }
  HEADWISE_ASSIGN(const std::vector<JsonPart> parts,
                  sequence_parts(part, "decoders"));
  DecoderSteps steps;
  for (const JsonPart& step_part : parts) {
    HEADWISE_ASSIGN(auto step, read_step(step_part));
    steps.push_back(std::move(step));
  }
  return std::make_unique<Decoder>(std::move(steps));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
