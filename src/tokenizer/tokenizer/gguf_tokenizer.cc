// The tokenizer in the metadata of a GGUF file.
#include <algorithm>
#include <utility>

#include "interop/error_text.h"
#include "interop/gguf.h"
#include "tokenizer/tokenizer_file.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

class GgufTokenizer {
 public:
  // The keys of tokenizer.ggml.
  explicit GgufTokenizer(JsonPart keys) : keys_(std::move(keys)) {
    spec_.subject = keys_.subject();
  }

  Result<TokenizerSpec> read() {
    std::string model;
    HEADWISE_TRY(keys_.require("model", model));
    HEADWISE_TRY(take_tokens());
    if (model == "llama" || model == "t5") {
      HEADWISE_TRY(read_sentencepiece(model == "t5"));
    } else if (model == "gpt2") {
      HEADWISE_TRY(read_byte_level());
    } else if (model == "bert") {
      HEADWISE_TRY(read_bert());
    } else {
      return keys_.unexpected("model", "llama, gpt2, bert or t5",
                              ErrorCode::unsupported);
    }
    return std::move(spec_);
  }

 private:
  std::optional<NamedToken> token_of(std::string_view key) const {
    const JsonPart part = keys_.at(key);
    std::uint64_t id = 0;
    return part.exists() && part.json().get(id) && id < texts_.size()
               ? std::optional(
                     NamedToken{texts_[id], static_cast<std::uint32_t>(id)})
               : std::nullopt;
  }

  // A number for each token.
  Status take_numbers(std::string_view key, double otherwise,
                      std::vector<double>& numbers) const {
    HEADWISE_TRY(keys_.get(key, numbers));
    numbers.resize(numbers.empty() ? texts_.size() : numbers.size(), otherwise);
    return numbers.size() == texts_.size()
               ? ok()
               : Status(keys_.at(key).fault(
                     message("has length {}", numbers.size()),
                     message("{}", texts_.size())));
  }

  Status take_tokens() {
    std::vector<double> scores;
    std::vector<double> types;
    HEADWISE_TRY(keys_.require("tokens", texts_));
    HEADWISE_TRY(take_numbers("scores", 0, scores));
    HEADWISE_TRY(take_numbers("token_type", 1, types));
    for (std::size_t id = 0; id < texts_.size(); ++id) {
      const bool is_type = types[id] >= 1 && types[id] <= 6;
      tokens_.push_back({texts_[id], static_cast<float>(scores[id]),
                         static_cast<PieceType>(is_type ? types[id] : 1)});
    }
    const auto unknown = token_of("unknown_token_id");
    if (!keys_.at("token_type").exists() && unknown) {
      tokens_[unknown->id].type = PieceType::unknown;
    }
    return ok();
  }

  void set_added_tokens() {
    Json& added = spec_.json["added_tokens"] = Json::array();
    for (std::uint32_t id = 0; id < tokens_.size(); ++id) {
      const auto& [text, score, type] = tokens_[id];
      if (type == PieceType::control || type == PieceType::user_defined) {
        added.push_back(added_token(text, id, type == PieceType::control));
      }
    }
  }

  // `first` and `last`: whether bos and eos are added to a text where the file
  // does not say.
  Status set_edge_tokens(bool first, bool last) {
    HEADWISE_TRY(keys_.get("add_bos_token", first));
    HEADWISE_TRY(keys_.get("add_eos_token", last));
    spec_.json["post_processor"] =
        template_processing(first ? token_of("bos_token_id") : std::nullopt,
                            last ? token_of("eos_token_id") : std::nullopt);
    return ok();
  }

  Status read_sentencepiece(bool is_unigram) {
    SentencePieceModel model;
    model.model = is_unigram ? PieceModel::unigram : PieceModel::bpe;
    model.pieces = tokens_;
    for (ScoredPiece& piece : model.pieces) {
      model.byte_fallback =
          model.byte_fallback || piece.type == PieceType::byte;
      if (piece.type == PieceType::unused && !is_unigram) {
        piece.type = PieceType::normal;  // it fills up the vocabulary
      }
    }
    model.remove_extra_whitespaces = false;
    HEADWISE_TRY(keys_.get("add_space_prefix", model.add_dummy_prefix));
    HEADWISE_TRY(
        keys_.get("remove_extra_whitespaces", model.remove_extra_whitespaces));
    std::vector<double> bytes;
    HEADWISE_TRY(keys_.get("precompiled_charsmap", bytes));
    std::string chars_map;
    for (const double byte : bytes) {
      const bool fits = byte >= -128 && byte <= 255;
      chars_map += static_cast<char>(fits ? static_cast<int>(byte) : 0);
    }
    model.chars_map = chars_map;
    HEADWISE_ASSIGN(spec_, sentencepiece_spec(model, spec_.subject));
    set_added_tokens();
    return set_edge_tokens(!is_unigram, is_unigram);
  }

  Status read_byte_level() {
    std::string pre;
    HEADWISE_TRY(keys_.require("pre", pre));
    const auto splits = gguf_splits();
    const auto split = std::ranges::find(splits, pre, &GgufSplit::name);
    if (split == splits.end()) {
      return keys_.unexpected(
          "pre", Message::verbatim(list_text(splits, ", ", &GgufSplit::name)),
          ErrorCode::unsupported);
    }
    std::vector<std::string> merges;
    HEADWISE_TRY(keys_.require("merges", merges));
    spec_.json = byte_level_json(split->split, split->ignores_merges);
    for (std::uint32_t id = 0; id < tokens_.size(); ++id) {
      spec_.vocabulary.emplace_back(tokens_[id].text, id);
    }
    for (const std::string& merge : merges) {
      if (!add_merge(merge, spec_)) {
        return keys_.at("merges").fault(message("has \"{}\"", printable(merge)),
                                        "two tokens with a space between them");
      }
    }
    set_added_tokens();
    return set_edge_tokens(split->adds_bos, /*last=*/false);
  }

  // Tokens at the beginning of a word have a mark, those inside have none.
  Status read_bert() {
    constexpr std::string_view kMark = "\u2581";
    for (std::uint32_t id = 0; id < tokens_.size(); ++id) {
      std::string token = texts_[id];
      if (token.starts_with(kMark)) {
        token.erase(0, kMark.size());
      } else if (tokens_[id].type == PieceType::normal &&
                 !(token.starts_with('[') && token.ends_with(']'))) {
        token.insert(0, "##");
      }
      spec_.vocabulary.emplace_back(std::move(token), id);
    }
    return complete_bert({nullptr, spec_.subject, ""}, spec_);
  }

  JsonPart keys_;
  std::vector<std::string> texts_;
  std::vector<ScoredPiece> tokens_;
  TokenizerSpec spec_;
};

}  // namespace

Result<TokenizerSpec> parse_gguf_tokenizer(std::string_view bytes,
                                           const FileSubject& subject) {
  constexpr std::string_view kWhole = "tokenizer.huggingface.json";
  constexpr std::string_view kKeys = "tokenizer.ggml";
  HEADWISE_ASSIGN(Json metadata, read_gguf_metadata(bytes, subject));
  std::string whole;
  if (const Json* json = metadata.find(kWhole); json && json->get(whole)) {
    return parse_tokenizer_json(whole, subject.of_entry(std::string(kWhole)));
  }
  Json keys = Json::object();
  for (std::size_t n = 0; n < metadata.size(); ++n) {
    if (metadata.key(n).starts_with(std::string(kKeys) + ".")) {
      keys[metadata.key(n).substr(kKeys.size() + 1)] = std::move(metadata[n]);
    }
  }
  return GgufTokenizer({&keys, subject, std::string(kKeys)}).read();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
