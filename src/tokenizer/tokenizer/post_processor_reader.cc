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

constexpr std::uint64_t kLargestId = std::numeric_limits<std::uint32_t>::max();
constexpr const char* kAnId = "a whole number from 0 to 4294967295";

Result<TokenId> read_template_id(const JsonPart& part) {
  std::uint64_t id = 0;
  if (!part.exists() || !part.json().get(id) || id > kLargestId) {
    return part.fault("is not an id", kAnId);
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
  post.single = {{.added = {cls}}, {.sequence = 0}, {.added = {sep}}};
  post.pair = post.single;
  if (!part.at("trim_offsets").exists() ||
      !part.at("add_prefix_space").exists()) {
    post.pair.push_back({.sequence = 1, .type = 1});
    post.pair.push_back({.added = {sep}, .type = 1});
    return ok();
  }
  post.pair.push_back({.added = {sep}});
  post.pair.push_back({.sequence = 1});
  post.pair.push_back({.added = {sep}});
  return read_offset_trim(part, post);
}

Result<std::vector<TokenId>> read_special_token(const JsonPart& token) {
  std::string unused;
  HEADWISE_TRY(token.require("id", unused));
  HEADWISE_TRY(token.list("tokens"));
  HEADWISE_ASSIGN(const std::vector<JsonPart> parts, token.list("ids"));
  std::vector<TokenId> ids;
  for (const JsonPart& part : parts) {
    HEADWISE_ASSIGN(const TokenId id, read_template_id(part));
    ids.push_back(id);
  }
  return ids;
}

// {"Sequence": {"id": "A", "type_id": 0}}, or SpecialToken.
Result<TemplatePiece> read_template_piece(const JsonPart& part,
                                          std::size_t texts,
                                          const JsonPart& special) {
  constexpr std::array<std::string_view, 2> kTexts = {"A", "B"};
  const bool is_text = part.at("Sequence").exists();
  const JsonPart inner = part.at(is_text ? "Sequence" : "SpecialToken");
  if (!inner.exists() || part.json().size() != 1) {
    return part.fault("is not a piece", "Sequence or SpecialToken");
  }
  TemplatePiece piece;
  HEADWISE_ASSIGN(piece.type, read_template_id(inner.at("type_id")));
  if (is_text) {
    std::size_t text = 0;
    HEADWISE_TRY(inner.require("id", std::span(kTexts).first(texts), text));
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

Result<EncodingTemplate> read_template_pieces(const JsonPart& part,
                                              std::string_view key,
                                              std::size_t texts,
                                              const JsonPart& special) {
  HEADWISE_ASSIGN(const std::vector<JsonPart> parts, part.list(key));
  EncodingTemplate pieces;
  for (const JsonPart& piece : parts) {
    HEADWISE_ASSIGN(TemplatePiece read,
                    read_template_piece(piece, texts, special));
    pieces.push_back(std::move(read));
  }
  return pieces;
}

Status read_template_processing(const JsonPart& part, PostProcessor& post) {
  const JsonPart special = part.at("special_tokens");
  if (!special.exists()) {
    return part.missing("special_tokens");
  }
  HEADWISE_ASSIGN(post.single,
                  read_template_pieces(part, "single", 1, special));
  HEADWISE_ASSIGN(post.pair, read_template_pieces(part, "pair", 2, special));
  return ok();
}

struct PostProcessorType {
  std::string_view name;
  std::string_view key;  // tells the type where none is written
  bool has_template;
  Status (*read)(const JsonPart& part, PostProcessor& post);
};

constexpr std::array<PostProcessorType, 4> kPostProcessorTypes = {{
    {"BertProcessing", "sep", true, read_bert_processing},
    {"RobertaProcessing", "sep", true, read_bert_processing},
    {"ByteLevel", {}, false, read_offset_trim},
    {"TemplateProcessing", "single", true, read_template_processing},
}};

Result<const PostProcessorType*> post_processor_type(const JsonPart& part) {
  std::optional<std::string> name;
  HEADWISE_TRY(part.get("type", name));
  for (const PostProcessorType& type : kPostProcessorTypes) {
    if (name ? type.name == *name
             : !type.key.empty() && part.at(type.key).exists()) {
      return &type;
    }
  }
  return name ? part.unexpected("type", "the type of a post-processor",
                                ErrorCode::unsupported)
              : part.missing("type");
}

}  // namespace

Result<std::unique_ptr<PostProcessor>> read_post_processor(
    const JsonPart& part) {
  if (!part.exists()) {
    return std::unique_ptr<PostProcessor>();
  }
  auto post = std::make_unique<PostProcessor>();
  HEADWISE_ASSIGN(const std::vector<JsonPart> parts,
                  sequence_parts(part, "processors"));
  bool has_template = false;
  for (const JsonPart& one : parts) {
    HEADWISE_ASSIGN(const PostProcessorType* const type,
                    post_processor_type(one));
    if (type->has_template && std::exchange(has_template, true)) {
      return one.fault("adds tokens", "one post-processor that does",
                       ErrorCode::unsupported);
    }
    HEADWISE_TRY(type->read(one, *post));
  }
  return post;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
