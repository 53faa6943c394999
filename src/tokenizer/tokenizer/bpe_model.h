// Byte pair encoding: the characters of a word, merged pair by pair.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/bpe_merges.h"
#include "tokenizer/models.h"
#include "tokenizer/token_table.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

struct BpeOptions {
  std::string prefix{};  // of each character but the first
  std::string suffix{};  // of the last character
  bool fuse_unk = false;
  bool ignore_merges = false;
  bool byte_level = false;
  // Where there is none, unknown characters are dropped.
  std::optional<Result<ModelId>> unknown{};
  ByteTokens byte_tokens{};
};

// Where words may be cut: before these characters, unless a merge joins the two
// sides.
struct BpeCuts {
  std::u32string before{};
  std::vector<std::pair<char32_t, char32_t>> joined{};
};

class BpeModel final : public TableModel {
 public:
  BpeModel(TokenTable vocabulary, BpeMerges merges, BpeOptions options,
           BpeCuts cuts);

  Status encode(std::string_view word, ModelMemory& memory,
                std::vector<ModelToken>& tokens) const override;
  bool may_cut(char32_t before, char32_t after) const override;

 private:
  std::string_view spelled(std::string_view word, std::string& text) const;
  // `affixed`: room for the character with prefix and suffix.
  std::optional<ModelId> symbol(std::string_view text, std::size_t begin,
                                Character character,
                                std::string& affixed) const;
  Status add_symbols(std::string_view text,
                     std::vector<BpeSymbol>& symbols) const;
  void add_tokens(std::string_view text, const std::vector<BpeSymbol>& symbols,
                  std::vector<ModelToken>& tokens) const;

  BpeMerges merges_;
  BpeOptions options_;
  BpeCuts cuts_;
  bool has_affixes_;
  // The symbols of the first characters, with all of the byte-level alphabet.
  std::array<std::optional<ModelId>, 512> symbols_{};
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
