#include <algorithm>
#include <utility>

#include "tokenizer/models.h"
#include "tokenizer/piece_trie.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

class WordPieceModel final : public TableModel {
 public:
  // `longest_word`: in characters.
  WordPieceModel(TokenTable vocabulary, Result<ModelId> unknown,
                 std::string_view prefix, std::size_t longest_word)
      : TableModel(std::move(vocabulary)),
        unknown_(std::move(unknown)),
        longest_word_(longest_word),
        trie_(vocabulary_.all()),
        inside_word_(trie_.descendant(PieceTrie::root(), prefix)) {}

  Status encode(std::string_view word, ModelMemory& /*memory*/,
                std::vector<ModelToken>& tokens) const override;

 private:
  bool add_pieces(std::string_view word, std::vector<ModelToken>& tokens) const;
  // The longest piece that the word has at `begin`; it ends there if none.
  ModelToken longest_piece(std::string_view word, std::uint32_t begin) const;

  Result<ModelId> unknown_;
  std::size_t longest_word_;
  PieceTrie trie_;
  std::uint32_t inside_word_;
};

Status WordPieceModel::encode(std::string_view word, ModelMemory& /*memory*/,
                              std::vector<ModelToken>& tokens) const {
  const std::size_t before = tokens.size();
  const auto inside_characters = static_cast<std::size_t>(
      std::ranges::count_if(word, continues_character));
  if (word.size() - inside_characters <= longest_word_ &&
      add_pieces(word, tokens)) {
    return ok();
  }
  tokens.resize(before);
  HEADWISE_TRY(unknown_);
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
  for (std::uint32_t end = begin; end < word.size() && node != PieceTrie::kNone;
       ++end) {
    node = trie_.child(node, word[end]);
    if (node != PieceTrie::kNone && trie_.value(node) != PieceTrie::kNone) {
      longest = {trie_.value(node), begin, end + 1};
    }
  }
  return longest;
}

}  // namespace

MadeModel make_wordpiece(const JsonPart& model, TokenizerSpec& spec) {
  std::string unk_token;
  std::string prefix;
  std::size_t longest_word = 0;
  HEADWISE_TRY(model.require("unk_token", unk_token));
  HEADWISE_TRY(model.require("continuing_subword_prefix", prefix));
  HEADWISE_TRY(model.require("max_input_chars_per_word", longest_word));
  TokenTable vocabulary(std::exchange(spec.vocabulary, {}));
  auto unknown = unknown_token(model, unk_token, vocabulary);
  return {std::make_unique<WordPieceModel>(
      std::move(vocabulary), std::move(unknown), prefix, longest_word)};
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
