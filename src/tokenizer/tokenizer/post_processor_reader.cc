#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "tokenizer/post_processor.h"
#include "tokenizer/shared_keys.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

Result<TokenId> read_template_id(const JsonPart& part) {
  std::uint64_t id = 0;
  if (!part.exists() || !part.json().get(id) ||
      id > std::numeric_limits<std::uint32_t>::max()) {
    return part.fault("is not an id", "a whole number from 0 to 4294967295");
  }
  return static_cast<TokenId>(id);
}

// ["[SEP]", 102]
Result<TokenId> read_named_token(const JsonPart& part, std::string_view key) {
  HEADWISE_ASSIGN(const std::vector<JsonPart> token, part.list(key));
  if (token.size() != 2 || !token[0].exists() || !token[0].json().is_text()) {
    return part.unexpected(key, "a text and an id");
  }
  return read_template_id(token[1]);
}

Status read_offset_trim(const JsonPart& part, PostProcessor& post) {
  HEADWISE_ASSIGN(const ByteLevelKeys keys, read_byte_level(part));
  if (keys.trim_offsets) {
    post.trims_for_prefix_space.push_back(keys.add_prefix_space);
  }
  return ok();
}

// BertProcessing, or RobertaProcessing: the one that trims.
Status read_bert_processing(const JsonPart& part, PostProcessor& post) {
  HEADWISE_ASSIGN(const TokenId sep, read_named_token(part, "sep"));
  HEADWISE_ASSIGN(const TokenId cls, read_named_token(part, "cls"));
  const bool trims =
      part.at("trim_offsets").exists() && part.at("add_prefix_space").exists();
  const TokenId second_type = trims ? 0 : 1;
  post.single = {{.added = {cls}}, {.sequence = 0}, {.added = {sep}}};
  post.pair = post.single;
  if (trims) {
    post.pair.push_back({.added = {sep}});
  }
  post.pair.push_back({.sequence = 1, .type = second_type});
  post.pair.push_back({.added = {sep}, .type = second_type});
  return trims ? read_offset_trim(part, post) : ok();
}

Result<std::vector<TokenId>> read_special_token(const JsonPart& token) {
  std::string unused;
  HEADWISE_TRY(token.require("id", unused));
  HEADWISE_TRY(token.list("tokens"));
  HEADWISE_ASSIGN(const std::vector<JsonPart> parts, token.list("ids"));
  std::vector<TokenId> ids;
  for (const JsonPart& part : parts) {
    HEADWISE_ASSIGN(ids.emplace_back(), read_template_id(part));
  }
  return ids;
}

// {"Sequence": {"id": "A", "type_id": 0}}, or SpecialToken.
Result<TemplatePiece> read_template_piece(
    const JsonPart& part, std::span<const std::string_view> texts,
    const JsonPart& special) {
  const bool is_text = part.at("Sequence").exists();
  const JsonPart inner = part.at(is_text ? "Sequence" : "SpecialToken");
  if (!inner.exists() || part.json().size() != 1) {
    return part.fault("is not a piece", "Sequence or SpecialToken");
  }
  TemplatePiece piece;
  HEADWISE_ASSIGN(piece.type, read_template_id(inner.at("type_id")));
  if (is_text) {
    std::size_t text = 0;
    HEADWISE_TRY(inner.require("id", texts, text));
    piece.sequence = static_cast<std::int8_t>(text);
    return piece;
  }
  std::string name;
  HEADWISE_TRY(inner.require("id", name));
  if (!special.at(name).exists()) {
    return inner.unexpected("id", "a name in special_tokens");
  }
  HEADWISE_ASSIGN(piece.added, read_special_token(special.at(name)));
  return piece;
}

Status read_template_processing(const JsonPart& part, PostProcessor& post) {
  constexpr std::array<std::string_view, 2> kTexts = {"A", "B"};
  const JsonPart special = part.at("special_tokens");
  if (!special.exists()) {
    return part.missing("special_tokens");
  }
  for (const bool is_pair : {false, true}) {
    HEADWISE_ASSIGN(const auto parts, part.list(is_pair ? "pair" : "single"));
    EncodingTemplate& pieces = is_pair ? post.pair : post.single;
    pieces.clear();
    for (const JsonPart& one : parts) {
      HEADWISE_ASSIGN(
          pieces.emplace_back(),
          read_template_piece(one, std::span(kTexts).first(is_pair ? 2 : 1),
                              special));
    }
  }
  return ok();
}

using PostProcessorType = PartType<Status(const JsonPart&, PostProcessor&)>;

constexpr std::array kPostProcessorTypes = {
    PostProcessorType{"BertProcessing", read_bert_processing, {"sep"}},
    PostProcessorType{"RobertaProcessing", read_bert_processing, {"sep"}},
    PostProcessorType{"ByteLevel", read_offset_trim},
    PostProcessorType{
        "TemplateProcessing", read_template_processing, {"single"}}};

constexpr std::array<std::string_view, 2> kSavedSides = {"Left", "Right"};

}  // namespace

Result<PostProcessor> read_post_processor(const JsonPart& part) {
  PostProcessor post;
  if (!part.exists()) {
    return post;
  }
  HEADWISE_ASSIGN(const auto parts, sequence_parts(part, "processors"));
  bool has_template = false;
  for (const JsonPart& one : parts) {
    HEADWISE_ASSIGN(const auto* const type, type_of(one, kPostProcessorTypes));
    if (type->read != read_offset_trim && std::exchange(has_template, true)) {
      return one.fault("adds tokens", "one post-processor that does",
                       ErrorCode::unsupported);
    }
    HEADWISE_TRY(type->read(one, post));
  }
  return post;
}

Status check_saved_truncation(const JsonPart& part) {
  constexpr std::array<std::string_view, 3> kStrategies = {
      "LongestFirst", "OnlyFirst", "OnlySecond"};
  std::size_t unused = 0;
  if (part.exists()) {
    HEADWISE_TRY(part.get("direction", kSavedSides, unused));
    HEADWISE_TRY(part.require("max_length", unused));
    HEADWISE_TRY(part.require("strategy", kStrategies, unused));
    HEADWISE_TRY(part.require("stride", unused));
  }
  return ok();
}

Status check_saved_padding(const JsonPart& part) {
  constexpr std::array<std::string_view, 1> kStrategies = {"BatchLongest"};
  std::size_t unused = 0;
  std::string token;
  if (part.exists()) {
    const JsonPart strategy = part.at("strategy");
    HEADWISE_TRY(strategy.exists() && strategy.json().is_object()
                     ? strategy.require("Fixed", unused)
                     : part.require("strategy", kStrategies, unused));
    HEADWISE_TRY(part.require("direction", kSavedSides, unused));
    HEADWISE_TRY(part.get("pad_to_multiple_of", unused));
    HEADWISE_TRY(part.require("pad_id", unused));
    HEADWISE_TRY(part.require("pad_type_id", unused));
    HEADWISE_TRY(part.require("pad_token", token));
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
