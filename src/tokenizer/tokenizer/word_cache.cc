#include "tokenizer/word_cache.h"

#include <utility>

#include "tokenizer/byte_hash.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::size_t kFirstCacheSlots = 1024;
constexpr std::size_t kMostCacheSlots = std::size_t{1} << 17U;    // 2 MiB
constexpr std::size_t kMostCachedTokens = std::size_t{1} << 19U;  // 6 MiB
constexpr std::size_t kLongestCachedWord = 64;
constexpr std::size_t kMostCachedOfWord = 256;

}  // namespace

std::size_t WordCache::slot(std::string_view word, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  const auto tag = static_cast<std::uint32_t>(hash >> 32U);
  std::size_t n = hash & mask;
  while (slots_[n].word_size != 0 &&
         (slots_[n].tag != tag ||
          std::string_view(words_).substr(slots_[n].word,
                                          slots_[n].word_size) != word)) {
    n = (n + 1) & mask;
  }
  return n;
}

std::optional<std::span<const ModelToken>> WordCache::find(
    std::string_view word) const {
  if (slots_.empty()) {
    return {};
  }
  const Slot& found = slots_[slot(word, byte_hash(word))];
  if (found.word_size == 0) {
    return {};
  }
  return std::span(tokens_).subspan(found.tokens, found.token_count);
}

void WordCache::add(std::string_view word, std::span<const ModelToken> tokens) {
  if (word.empty() || word.size() > kLongestCachedWord ||
      tokens.size() > kMostCachedOfWord) {
    return;
  }
  if (2 * (used_ + 1) > slots_.size() || tokens_.size() > kMostCachedTokens) {
    grow();
  }
  const std::uint64_t hash = byte_hash(word);
  slots_[slot(word, hash)] = {static_cast<std::uint32_t>(hash >> 32U),
                              static_cast<std::uint32_t>(words_.size()),
                              static_cast<std::uint32_t>(tokens_.size()),
                              static_cast<std::uint16_t>(word.size()),
                              static_cast<std::uint16_t>(tokens.size())};
  words_ += word;
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  ++used_;
}

void WordCache::grow() {
  if (slots_.size() == kMostCacheSlots || tokens_.size() > kMostCachedTokens) {
    *this = {};
  }
  const std::vector<Slot> old = std::exchange(
      slots_,
      std::vector<Slot>(slots_.empty() ? kFirstCacheSlots : 2 * slots_.size()));
  for (const Slot& moved : old) {
    if (moved.word_size != 0) {
      const std::string_view word =
          std::string_view(words_).substr(moved.word, moved.word_size);
      slots_[slot(word, byte_hash(word))] = moved;
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
