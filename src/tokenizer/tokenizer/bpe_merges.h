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
  BpeMerges() : BpeMerges({}, true) {}
  // Of a pair that is listed twice the last one counts. `grow`: each token is
  // as long as its two parts, so a pair that was replaced by a longer one never
  // makes the same token again.
  BpeMerges(std::span<const BpeMerge> merges, bool grow);

  // Merges memory.symbols: always the leftmost pair of the lowest rank.
  void apply(ModelMemory& memory) const;

 private:
  // The slot of the pair; a free one if it has no merge.
  std::size_t place(ModelId left, ModelId right) const;
  // Finds the merge of a symbol and the next one.
  void rank_pair(ModelMemory& memory, std::uint32_t at, bool queued) const;
  void merge_pair(ModelMemory& memory, std::uint32_t at, bool queued) const;

  std::vector<BpeMerge> slots_;    // a hash table; free ones have no rank
  std::uint32_t shift_ = 0;        // of hashes
  std::vector<ModelId> merged_{};  // by rank; empty if merges share ranks
  bool grow_ = true;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
