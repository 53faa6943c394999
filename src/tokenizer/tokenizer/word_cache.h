// The tokens of words that were seen before: most words of a text are repeated.
// Each thread has a cache of its own. Its size is bounded; a full one is
// emptied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/version.h"
#include "tokenizer/token_model.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

class WordCache {
 public:
  // Valid until the next add().
  std::optional<std::span<const ModelToken>> find(std::string_view word) const;
  // `word` is not in the cache. Long words are not kept.
  void add(std::string_view word, std::span<const ModelToken> tokens);

 private:
  struct Slot {
    std::uint32_t tag = 0;  // the upper half of the hash
    std::uint32_t word = 0;
    std::uint32_t tokens = 0;
    std::uint16_t word_size = 0;  // 0: free
    std::uint16_t token_count = 0;
  };

  // Where the word is, or the free slot for it.
  std::size_t slot(std::string_view word, std::uint64_t hash) const;
  void grow();

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
  std::string words_;
  std::vector<ModelToken> tokens_;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
