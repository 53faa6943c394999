#include <algorithm>
#include <utility>

#include "tokenizer/models.h"
#include "tokenizer/piece_trie.h"
#include "tokenizer/token_table.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

struct WordPieceOptions {
  std::string unk_token{};
  std::string prefix{};
  std::size_t longest_word = 0;  // in characters
};

class WordPieceModel final : public TokenModel {
 public:
  WordPieceModel(TokenTable vocabulary, PieceTrie trie,
                 const WordPieceOptions& options, Error no_unknown)
      : vocabulary_(std::move(vocabulary)),
        trie_(std::move(trie)),
        inside_word_(trie_.descendant(PieceTrie::root(), options.prefix)),
        longest_word_(options.longest_word),
        unknown_(vocabulary_.find(options.unk_token)),
        no_unknown_(std::move(no_unknown)) {}

  Status encode(std::string_view word, ModelMemory& memory,
                std::vector<ModelToken>& tokens) const override;

  std::size_t size() const override { return vocabulary_.size(); }
  std::optional<ModelId> find(std::string_view token) const override {
    return vocabulary_.find(token);
  }
  std::optional<std::string_view> token(ModelId id) const override {
    return vocabulary_.token(id);
  }

 private:
  bool is_too_long(std::string_view word) const {
    return word.size() > longest_word_ &&
           word.size() - static_cast<std::size_t>(
                             std::ranges::count_if(word, continues_character)) >
               longest_word_;
  }
  bool add_pieces(std::string_view word, std::vector<ModelToken>& tokens) const;
  // The longest piece that the word has at `begin`; it ends there if none.
  ModelToken longest_piece(std::string_view word, std::uint32_t begin) const;

  TokenTable vocabulary_;
  PieceTrie trie_;
  std::uint32_t inside_word_;
  std::size_t longest_word_;
  std::optional<ModelId> unknown_;
  Error no_unknown_;
};

Status WordPieceModel::encode(std::string_view word, ModelMemory& /*memory*/,
                              std::vector<ModelToken>& tokens) const {
  const std::size_t before = tokens.size();
  if (!is_too_long(word) && add_pieces(word, tokens)) {
    return ok();
  }
  tokens.resize(before);
  if (!unknown_) {
    return no_unknown_;
  }
  tokens.push_back({*unknown_, 0, static_cast<std::uint32_t>(word.size())});
  return ok();
}

bool WordPieceModel::add_pieces(std::string_view word,
                                std::vector<ModelToken>& tokens) const {
  for (std::uint32_t begin = 0; begin < word.size();) {
    const ModelToken piece = longest_piece(word, begin);
    if (piece.end == begin) {
      return false;
    }
    tokens.push_back(piece);
    begin = piece.end;
  }
  return true;
}

ModelToken WordPieceModel::longest_piece(std::string_view word,
                                         std::uint32_t begin) const {
  ModelToken longest{0, begin, begin};
  std::uint32_t node = begin == 0 ? PieceTrie::root() : inside_word_;
  for (std::uint32_t n = begin; n < word.size() && node != PieceTrie::kNone;) {
    node = trie_.child(node, word[n]);
    ++n;
    if (node != PieceTrie::kNone && trie_.value(node) != PieceTrie::kNone) {
      longest = {trie_.value(node), begin, n};
    }
  }
  return longest;
}

}  // namespace

MadeModel make_wordpiece(const JsonPart& model, TokenizerSpec& spec) {
  WordPieceOptions options;
  HEADWISE_TRY(model.require("unk_token", options.unk_token));
  HEADWISE_TRY(model.require("continuing_subword_prefix", options.prefix));
  HEADWISE_TRY(model.require("max_input_chars_per_word", options.longest_word));
  TokenTable vocabulary(std::exchange(spec.vocabulary, {}));
  PieceTrie trie(vocabulary.all());
  return {std::make_unique<WordPieceModel>(
      std::move(vocabulary), std::move(trie), options,
      model.unexpected("unk_token", "a token of model.vocab"))};
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
