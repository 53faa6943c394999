// The tokens of words that were seen before: most words of a text are repeated.
// Each thread has a cache of its own. Its size is bounded; a full one is
// emptied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headwise/version.h"
#include "tokenizer/token_model.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

class WordCache {
 public:
  // Valid until the next add().
  std::optional<std::span<const ModelToken>> find(std::string_view word) const {
    const auto found = words_.find(word);
    return found ? std::optional(std::span(tokens_).subspan(
                       *found >> kCountBits, *found % kCounts))
                 : std::nullopt;
  }

  // `word` is not in the cache. Long words are not kept.
  void add(std::string_view word, std::span<const ModelToken> tokens) {
    if (word.size() > kLongestWord || tokens.size() >= kCounts) {
      return;
    }
    if (words_.size() == kMostWords || tokens_.size() > kMostTokens) {
      *this = {};
    }
    words_.add(word, static_cast<std::uint32_t>(tokens_.size() << kCountBits |
                                                tokens.size()));
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  }

 private:
  static constexpr std::size_t kLongestWord = 64;
  static constexpr std::size_t kMostWords = std::size_t{1} << 16U;
  static constexpr std::size_t kMostTokens = std::size_t{1} << 19U;  // 6 MiB
  static constexpr std::uint32_t kCountBits = 8;
  static constexpr std::uint32_t kCounts = 1U << kCountBits;

  TextTable words_;  // with the places and numbers of their tokens
  std::vector<ModelToken> tokens_;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
