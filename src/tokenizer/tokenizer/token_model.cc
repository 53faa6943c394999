#include "tokenizer/token_model.h"

#include <algorithm>
#include <array>

#include "tokenizer/literal_search.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// WordPiece, and WordLevel: words of one piece.
class WordModel final : public TokenModel {
 public:
  // `longest_word`: in characters.
  WordModel(TokenTable vocabulary, Result<ModelId> unknown,
            std::optional<std::string_view> prefix, std::size_t longest_word)
      : TokenModel(std::move(vocabulary)),
        unknown_(std::move(unknown)),
        longest_word_(longest_word),
        trie_(vocabulary_.all()) {
    inside_word_ = prefix ? trie_.descendant(*prefix) : PieceTrie::kNone;
  }

  Status encode(std::string_view word, ModelMemory& /*memory*/,
                std::vector<ModelToken>& tokens) const override {
    const std::size_t before = tokens.size();
    const auto inside_characters = static_cast<std::size_t>(
        std::ranges::count_if(word, continues_character));
    if (word.size() - inside_characters > longest_word_ ||
        !add_pieces(word, tokens)) {
      tokens.resize(before);
      HEADWISE_TRY(unknown_);
      tokens.push_back({*unknown_, 0, static_cast<std::uint32_t>(word.size())});
    }
    return ok();
  }

 private:
  bool add_pieces(std::string_view word,
                  std::vector<ModelToken>& tokens) const {
    std::uint32_t node = PieceTrie::root();
    for (std::uint32_t begin = 0; begin < word.size(); node = inside_word_) {
      const auto piece = trie_.longest(node, word.substr(begin));
      if (piece.size == 0) {
        return false;
      }
      const auto end = begin + static_cast<std::uint32_t>(piece.size);
      tokens.push_back({piece.value, begin, end});
      begin = end;
    }
    return true;
  }

  Result<ModelId> unknown_;
  std::size_t longest_word_;
  PieceTrie trie_;
  std::uint32_t inside_word_;
};

MadeModel make_word_model(const JsonPart& model, TokenizerSpec& spec,
                          bool has_pieces) {
  std::string unk_token;
  std::optional<std::string> prefix;
  std::size_t longest_word = SIZE_MAX;
  HEADWISE_TRY(model.require("unk_token", unk_token));
  if (has_pieces) {
    HEADWISE_TRY(model.require("continuing_subword_prefix", prefix));
    HEADWISE_TRY(model.require("max_input_chars_per_word", longest_word));
  }
  TokenTable vocabulary(std::exchange(spec.vocabulary, {}));
  auto unknown = unknown_token(model, unk_token, vocabulary);
  return {std::make_unique<WordModel>(std::move(vocabulary), std::move(unknown),
                                      prefix, longest_word)};
}

constexpr auto kModelTypes = std::to_array<std::string_view>(
    {"BPE", "WordPiece", "WordLevel", "Unigram"});
enum ModelType : std::size_t { kBpe, kWordPiece, kWordLevel, kUnigram };

// The first type, in the order above, that has its keys: old files have no
// "type".
Result<std::size_t> guessed_type(const JsonPart& model,
                                 const TokenizerSpec& spec) {
  const auto has = [&](std::string_view key) { return model.at(key).exists(); };
  if (!spec.pieces.empty()) {
    return kUnigram;
  }
  if (!spec.merges.empty() || has("merges")) {
    return kBpe;
  }
  if (!has("unk_token")) {
    return model.missing("type");
  }
  return has("continuing_subword_prefix") && has("max_input_chars_per_word")
             ? kWordPiece
             : kWordLevel;
}

}  // namespace

Result<ModelId> unknown_token(const JsonPart& model, std::string_view unk_token,
                              const TokenTable& vocabulary) {
  if (const auto id = vocabulary.find(unk_token)) {
    return *id;
  }
  return model.unexpected("unk_token", "a token of model.vocab");
}

MadeModel make_model(TokenizerSpec& spec, bool byte_level) {
  const JsonPart model(spec.json.find("model"), spec.subject, "model");
  std::size_t type = 0;
  if (model.at("type").exists()) {
    if (const Status s = model.get("type", kModelTypes, type); !s) {
      return s.error().with_code(ErrorCode::unsupported);
    }
  } else {
    HEADWISE_ASSIGN(type, guessed_type(model, spec));
  }
  return type == kBpe       ? make_bpe(model, spec, byte_level)
         : type == kUnigram ? make_unigram(model, spec)
                            : make_word_model(model, spec, type == kWordPiece);
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
