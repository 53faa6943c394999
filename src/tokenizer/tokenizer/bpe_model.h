// Byte pair encoding: the characters of a word, merged pair by pair.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/bpe_cuts.h"
#include "tokenizer/bpe_merges.h"
#include "tokenizer/byte_tokens.h"
#include "tokenizer/token_model.h"
#include "tokenizer/token_table.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

struct BpeOptions {
  std::optional<std::string> unk_token{};
  std::string prefix{};  // of each character but the first
  std::string suffix{};  // of the last character
  bool fuse_unk = false;
  bool byte_fallback = false;
  bool ignore_merges = false;
  bool byte_level = false;
};

struct BpeParts {
  TokenTable vocabulary{};
  BpeMerges merges{};
  BpeCuts cuts{};
  ByteTokens byte_tokens{};
  std::optional<ModelId> unknown{};
  // Of an unk_token that is not in the vocabulary.
  std::optional<Error> no_unknown{};
};

class BpeModel final : public TokenModel {
 public:
  BpeModel(BpeOptions options, BpeParts parts);

  Status encode(std::string_view word, ModelMemory& memory,
                std::vector<ModelToken>& tokens) const override;

  std::size_t size() const override { return parts_.vocabulary.size(); }
  std::optional<ModelId> find(std::string_view token) const override {
    return parts_.vocabulary.find(token);
  }
  std::optional<std::string_view> token(ModelId id) const override {
    return parts_.vocabulary.token(id);
  }
  bool may_cut(char32_t before, char32_t after) const override {
    return parts_.cuts.may_cut(before, after);
  }

 private:
  // A character of the word, or one byte of byte-level words.
  struct Unit {
    std::size_t begin;
    std::size_t end;
    std::uint32_t size;  // in bytes of the vocabulary's spelling
  };

  Unit unit_at(std::string_view word, std::size_t begin) const;
  void append_spelling(std::string_view part, std::string& text) const;
  // With prefix and suffix.
  std::string_view spelled(std::string_view word, const Unit& unit,
                           std::string& text) const;
  std::optional<ModelId> symbol(std::string_view word, const Unit& unit,
                                std::string& text) const;
  Status add_symbols(std::string_view word, ModelMemory& memory) const;
  bool add_byte_tokens(std::string_view spelling, ModelMemory& memory) const;
  void add_tokens(std::string_view word, const std::vector<BpeSymbol>& symbols,
                  std::vector<ModelToken>& tokens) const;

  BpeOptions options_;
  BpeParts parts_;
  // Of one byte: its spelling in the vocabulary, and its symbol if neither
  // prefix nor suffix is added.
  std::array<std::string, 256> spelling_{};
  std::array<std::optional<ModelId>, 256> symbol_{};
  bool has_affixes_;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
