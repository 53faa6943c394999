// The tokenizer in the metadata of a GGUF file.
#include <algorithm>
#include <utility>

#include "interop/error_text.h"
#include "interop/gguf.h"
#include "tokenizer/tokenizer_file.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

class GgufTokenizer {
 public:
  GgufTokenizer(const GgufMetadata& metadata, const FileSubject& subject)
      : metadata_(metadata), subject_(subject) {}

  Result<TokenizerSpec> read() {
    HEADWISE_TRY(take_tokens());
    const auto model = text("model");
    if (model == "llama" || model == "t5") {
      return sentencepiece(model == "t5");
    }
    if (model == "gpt2" || model == "bert") {
      return model == "gpt2" ? byte_level() : bert();
    }
    return bad("model", message("is \"{}\"", printable(model)),
               "llama, gpt2, bert or t5", ErrorCode::unsupported);
  }

 private:
  const GgufValue& find(std::string_view key) const {
    static const GgufValue kNone;
    const auto found = metadata_.find("tokenizer.ggml." + std::string(key));
    return found == metadata_.end() ? kNone : found->second;
  }
  double number(std::string_view key, double otherwise) const {
    const auto& numbers = find(key).numbers;
    return numbers.size() == 1 ? numbers[0] : otherwise;
  }
  bool flag(std::string_view key, bool otherwise) const {
    return number(key, otherwise ? 1 : 0) != 0;
  }
  std::string_view text(std::string_view key) const {
    const auto& texts = find(key).texts;
    return texts.size() == 1 ? texts[0] : "";
  }
  Error bad(std::string_view key, Message given, Message expected,
            ErrorCode code = ErrorCode::bad_data) const {
    return subject_.of_entry("tokenizer.ggml." + std::string(key))
        .error(code, std::move(given), std::move(expected));
  }
  std::optional<NamedToken> token_of(std::string_view key) const {
    const double id = number(key, -1);
    if (!(id >= 0 && id < static_cast<double>(tokens_.size()))) {
      return {};
    }
    const auto n = static_cast<std::uint32_t>(id);
    return NamedToken{std::string(tokens_[n].text), n};
  }

  Status take_tokens() {
    const auto& texts = find("tokens").texts;
    const auto& scores = find("scores").numbers;
    const auto& types = find("token_type").numbers;
    if (texts.empty()) {
      return bad("tokens", "is missing", "a list of texts");
    }
    for (const auto& [key, list] :
         {std::pair("scores", &scores), std::pair("token_type", &types)}) {
      if (!list->empty() && list->size() != texts.size()) {
        return bad(key, message("has length {}", list->size()),
                   message("{}", texts.size()));
      }
    }
    for (std::size_t id = 0; id < texts.size(); ++id) {
      const double type = types.empty() ? 1 : types[id];
      tokens_.push_back({texts[id],
                         scores.empty() ? 0 : static_cast<float>(scores[id]),
                         type >= 1 && type <= 6 ? static_cast<PieceType>(type)
                                                : PieceType::normal});
    }
    const auto unknown = token_of("unknown_token_id");
    if (types.empty() && unknown) {
      tokens_[unknown->id].type = PieceType::unknown;
    }
    return ok();
  }

  Json added_tokens() const {
    Json added = Json::array();
    for (std::uint32_t id = 0; id < tokens_.size(); ++id) {
      const auto& [text, score, type] = tokens_[id];
      if (type == PieceType::control || type == PieceType::user_defined) {
        added.push_back(added_token(text, id, type == PieceType::control));
      }
    }
    return added;
  }

  // Whether bos and eos are added to a text where the file does not say.
  Json edge_tokens(bool bos, bool eos) const {
    const bool first = flag("add_bos_token", bos);
    const bool last = flag("add_eos_token", eos);
    return template_processing(first ? token_of("bos_token_id") : std::nullopt,
                               last ? token_of("eos_token_id") : std::nullopt);
  }

  Result<TokenizerSpec> sentencepiece(bool is_unigram) const {
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
    model.add_dummy_prefix = flag("add_space_prefix", true);
    model.remove_extra_whitespaces = flag("remove_extra_whitespaces", false);
    std::string chars_map;
    for (const double byte : find("precompiled_charsmap").numbers) {
      const bool fits = byte >= -128 && byte <= 255;
      chars_map += static_cast<char>(fits ? static_cast<int>(byte) : 0);
    }
    model.chars_map = chars_map;
    HEADWISE_ASSIGN(auto spec, sentencepiece_spec(model, subject_));
    spec.json["added_tokens"] = added_tokens();
    spec.json["post_processor"] = edge_tokens(!is_unigram, is_unigram);
    return spec;
  }

  Result<TokenizerSpec> byte_level() const {
    const auto pre = text("pre");
    const auto splits = gguf_splits();
    const auto split = std::ranges::find(splits, pre, &GgufSplit::name);
    if (split == splits.end()) {
      return bad("pre", message("is \"{}\"", printable(pre)),
                 Message::verbatim(list_text(splits, ", ", &GgufSplit::name)),
                 ErrorCode::unsupported);
    }
    const auto& merges = find("merges").texts;
    if (merges.empty()) {
      return bad("merges", "is missing", "a list of texts");
    }
    TokenizerSpec spec{
        .subject = subject_,
        .json = byte_level_json(split->split, split->ignores_merges)};
    for (std::uint32_t id = 0; id < tokens_.size(); ++id) {
      spec.vocabulary.emplace_back(tokens_[id].text, id);
    }
    for (const std::string_view merge : merges) {
      if (!add_merge(merge, spec)) {
        return bad("merges", message("has \"{}\"", printable(merge)),
                   "two tokens with a space between them");
      }
    }
    spec.json["added_tokens"] = added_tokens();
    spec.json["post_processor"] = edge_tokens(split->adds_bos, /*eos=*/false);
    return spec;
  }

  // Tokens at the beginning of a word have a mark, those inside have none.
  Result<TokenizerSpec> bert() const {
    TokenizerSpec spec{.subject = subject_};
    for (std::uint32_t id = 0; id < tokens_.size(); ++id) {
      std::string token(tokens_[id].text);
      if (token.starts_with(kWordBoundary)) {
        token.erase(0, kWordBoundary.size());
      } else if (tokens_[id].type == PieceType::normal &&
                 !(token.starts_with('[') && token.ends_with(']'))) {
        token.insert(0, "##");
      }
      spec.vocabulary.emplace_back(std::move(token), id);
    }
    HEADWISE_TRY(complete_bert({nullptr, subject_, ""}, spec));
    return spec;
  }

  const GgufMetadata& metadata_;
  const FileSubject& subject_;
  std::vector<ScoredPiece> tokens_;
};

}  // namespace

Result<TokenizerSpec> parse_gguf_tokenizer(std::string_view bytes,
                                           const FileSubject& subject) {
  constexpr std::string_view kWhole = "tokenizer.huggingface.json";
  HEADWISE_ASSIGN(const auto metadata, read_gguf_metadata(bytes, subject));
  const auto whole = metadata.find(kWhole);
  if (whole != metadata.end() && !whole->second.texts.empty()) {
    return parse_tokenizer_json(whole->second.texts[0],
                                subject.of_entry(std::string(kWhole)));
  }
  return GgufTokenizer(metadata, subject).read();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
