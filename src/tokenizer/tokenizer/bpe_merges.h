// The merges of a BPE model, and the merging of a word's symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headwise/version.h"
#include "tokenizer/token_model.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

struct BpeMerge {
  static constexpr std::uint32_t kNoRank = UINT32_MAX;

  ModelId left = 0;
  ModelId right = 0;
  ModelId merged = 0;
  std::uint32_t rank = kNoRank;
};

class BpeMerges {
 public:
  // Of a pair that is listed twice the last one counts.
  explicit BpeMerges(std::span<const BpeMerge> merges = {});

  // Merges memory.symbols: always the leftmost pair of the lowest rank.
  void apply(ModelMemory& memory) const;

 private:
  // The slot of the pair; a free one if it has no merge.
  std::size_t place(ModelId left, ModelId right) const;

  std::vector<BpeMerge> slots_;    // a hash table; free ones have no rank
  std::uint32_t shift_ = 0;        // of hashes
  std::vector<ModelId> merged_{};  // by rank; empty if merges share ranks
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
