#include "tokenizer/gguf_tokenizer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "interop/error_text.h"
#include "interop/gguf.h"
#include "tokenizer/gguf_splits.h"
#include "tokenizer/sentencepiece_file.h"
#include "tokenizer/spec_parts.h"
#include "tokenizer/tokenizer_file.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// The metadata of the tokenizer.
class GgufTokenizer {
 public:
  static Result<TokenizerSpec> read(const GgufFile& file,
                                    const FileSubject& subject);

 private:
  // Adds bos or eos to each text, unless the file says otherwise.
  struct Edges {
    bool first = false;
    bool last = false;
  };

  GgufTokenizer(const GgufFile& file, const FileSubject& subject)
      : file_(file), subject_(subject) {}

  const GgufValue* find(std::string_view key) const {
    return file_.find("tokenizer.ggml." + std::string(key));
  }
  Error bad(std::string_view key, Message given, Message expected = {},
            ErrorCode code = ErrorCode::bad_data) const {
    return subject_.of_entry("tokenizer.ggml." + std::string(key))
        .error(code, std::move(given), std::move(expected));
  }
  bool flag(std::string_view key, bool otherwise) const {
    const GgufValue* const value = find(key);
    return value == nullptr ? otherwise : value->boolean().value_or(otherwise);
  }
  std::string_view text(std::string_view key) const {
    const GgufValue* const value = find(key);
    return value == nullptr ? "" : value->text().value_or("");
  }
  std::optional<NamedToken> token_of(std::string_view key) const;
  PieceType type_of(std::size_t id) const;
  Status take_lists();

  Json added_tokens() const;
  Json edge_tokens(Edges edges) const;
  Result<TokenizerSpec> sentencepiece(PieceModel model, Edges edges) const;
  Result<TokenizerSpec> byte_level() const;
  Result<TokenizerSpec> bert() const;

  const GgufFile& file_;
  const FileSubject& subject_;
  std::vector<std::string_view> tokens_;
  std::vector<double> scores_;  // empty: none
  std::vector<double> types_;   // empty: all are normal
};

std::optional<NamedToken> GgufTokenizer::token_of(std::string_view key) const {
  const GgufValue* const value = find(key);
  const auto id = value == nullptr ? std::nullopt : value->natural();
  return id && *id < tokens_.size()
             ? std::optional(NamedToken{std::string(tokens_[*id]),
                                        static_cast<std::uint32_t>(*id)})
             : std::nullopt;
}

PieceType GgufTokenizer::type_of(std::size_t id) const {
  const double type = types_.empty() ? 1 : types_[id];
  return type >= 1 && type <= 6 ? static_cast<PieceType>(type)
                                : PieceType::normal;
}

Status GgufTokenizer::take_lists() {
  const GgufValue* const tokens = find("tokens");
  auto texts = tokens == nullptr ? std::nullopt : tokens->texts();
  if (!texts) {
    return bad("tokens", "is missing", "a list of texts");
  }
  tokens_ = *std::move(texts);
  if (tokens_.size() > kMostTokens) {
    return bad("tokens", message("has length {}", tokens_.size()),
               message("at most {}", kMostTokens));
  }
  for (const auto& [key, into] :
       {std::pair("scores", &scores_), std::pair("token_type", &types_)}) {
    const GgufValue* const value = find(key);
    auto numbers = value == nullptr ? std::nullopt : value->numbers();
    if (value != nullptr && (!numbers || numbers->size() != tokens_.size())) {
      return bad(key, "is another list", message("{} numbers", tokens_.size()));
    }
    *into = numbers ? *std::move(numbers) : std::vector<double>();
  }
  return ok();
}

Json GgufTokenizer::added_tokens() const {
  Json added = Json::array();
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    const PieceType type = type_of(id);
    if (type == PieceType::control || type == PieceType::user_defined) {
      added.push_back(added_token(tokens_[id], static_cast<std::uint32_t>(id),
                                  type == PieceType::control));
    }
  }
  return added;
}

Json GgufTokenizer::edge_tokens(Edges edges) const {
  std::optional<NamedToken> first;
  std::optional<NamedToken> last;
  if (flag("add_bos_token", edges.first)) {
    first = token_of("bos_token_id");
  }
  if (flag("add_eos_token", edges.last)) {
    last = token_of("eos_token_id");
  }
  return template_processing(first, last);
}

Result<TokenizerSpec> GgufTokenizer::sentencepiece(PieceModel model,
                                                   Edges edges) const {
  SentencePieceModel pieces;
  pieces.model = model;
  const auto unknown = token_of("unknown_token_id");
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    PieceType type = type_of(id);
    // Tokens that fill up the vocabulary.
    if (type == PieceType::unused && model == PieceModel::bpe) {
      type = PieceType::normal;
    }
    pieces.pieces.push_back(
        {tokens_[id], scores_.empty() ? 0 : static_cast<float>(scores_[id]),
         types_.empty() && unknown && unknown->id == id ? PieceType::unknown
                                                        : type});
    pieces.byte_fallback = pieces.byte_fallback || type == PieceType::byte;
  }
  pieces.add_dummy_prefix = flag("add_space_prefix", true);
  pieces.remove_extra_whitespaces = flag("remove_extra_whitespaces", false);
  const GgufValue* const chars_map = find("precompiled_charsmap");
  if (chars_map != nullptr) {
    pieces.chars_map = chars_map->bytes;
  }
  HEADWISE_ASSIGN(auto spec, sentencepiece_spec(pieces, subject_));
  spec.json["added_tokens"] = added_tokens();
  spec.json["post_processor"] = edge_tokens(edges);
  return spec;
}

Result<TokenizerSpec> GgufTokenizer::byte_level() const {
  const std::string_view pre = text("pre");
  const auto* const split =
      std::ranges::find(kGgufSplits, pre, &GgufSplit::name);
  if (split == kGgufSplits.end()) {
    return bad(
        "pre", message("is \"{}\"", printable(pre)),
        Message::verbatim(list_text(kGgufSplits, ", ", &GgufSplit::name)),
        ErrorCode::unsupported);
  }
  const GgufValue* const value = find("merges");
  const auto merges = value == nullptr ? std::nullopt : value->texts();
  if (!merges) {
    return bad("merges", "is missing", "a list of texts");
  }
  TokenizerSpec spec{.subject = subject_};
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    spec.vocabulary.emplace_back(tokens_[id], static_cast<std::uint32_t>(id));
  }
  for (const std::string_view merge : *merges) {
    // The first token may be a space.
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos) {
      return bad("merges", message("has \"{}\"", printable(merge)),
                 "two tokens with a space between them");
    }
    spec.merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  spec.json = {
      {"version", "1.0"},
      {"added_tokens", added_tokens()},
      {"pre_tokenizer", byte_level_split(split->patterns)},
      {"post_processor", edge_tokens({split->adds_bos, false})},
      {"decoder", byte_level_decoding()},
      {"model", {{"type", "BPE"}, {"ignore_merges", split->ignores_merges}}}};
  if (split->composes) {
    spec.json["normalizer"] = {{"type", "NFC"}};
  }
  return spec;
}

// Tokens at the beginning of a word have a mark, those inside have none.
Result<TokenizerSpec> GgufTokenizer::bert() const {
  constexpr std::string_view kMark = "\u2581";
  const auto unknown = token_of("unknown_token_id");
  const auto cls = token_of("cls_token_id");
  const auto sep = token_of("seperator_token_id");
  if (!unknown || !sep || !(cls || token_of("bos_token_id"))) {
    return bad("model", "is bert, without all of its tokens",
               "unknown_token_id, seperator_token_id and cls_token_id");
  }
  TokenizerSpec spec{.subject = subject_};
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    std::string token(tokens_[id]);
    const bool special = type_of(id) != PieceType::normal ||
                         (token.starts_with('[') && token.ends_with(']'));
    if (token.starts_with(kMark)) {
      token.erase(0, kMark.size());
    } else if (!special) {
      token.insert(0, "##");
    }
    spec.vocabulary.emplace_back(std::move(token),
                                 static_cast<std::uint32_t>(id));
  }
  Json added = added_tokens();
  for (const std::string_view key :
       {"unknown_token_id", "padding_token_id", "mask_token_id"}) {
    const auto token = token_of(key);
    if (token && type_of(token->id) != PieceType::control) {
      added.push_back(added_token(token->text, token->id, /*special=*/true));
    }
  }
  spec.json = wordpiece_json(unknown->text);
  spec.json["added_tokens"] = std::move(added);
  spec.json["post_processor"] = cls_sep_processing(
      "BertProcessing", cls ? *cls : *token_of("bos_token_id"), *sep);
  return spec;
}

Result<TokenizerSpec> GgufTokenizer::read(const GgufFile& file,
                                          const FileSubject& subject) {
  const GgufValue* const json = file.find("tokenizer.huggingface.json");
  if (json != nullptr && json->text()) {
    return parse_tokenizer_json(*json->text(),
                                subject.of_entry("tokenizer.huggingface.json"));
  }
  GgufTokenizer tokenizer(file, subject);
  HEADWISE_TRY(tokenizer.take_lists());
  const std::string_view model = tokenizer.text("model");
  if (model == "llama") {
    return tokenizer.sentencepiece(PieceModel::bpe, {true, false});
  }
  if (model == "t5") {
    return tokenizer.sentencepiece(PieceModel::unigram, {false, true});
  }
  if (model == "gpt2") {
    return tokenizer.byte_level();
  }
  if (model == "bert") {
    return tokenizer.bert();
  }
  return tokenizer.bad("model", message("is \"{}\"", printable(model)),
                       "llama, gpt2, bert or t5", ErrorCode::unsupported);
}

}  // namespace

Result<TokenizerSpec> parse_gguf_tokenizer(std::string_view bytes,
                                           const FileSubject& subject) {
  HEADWISE_ASSIGN(const auto file, GgufFile::parse(bytes, subject));
  return GgufTokenizer::read(file, subject);
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
