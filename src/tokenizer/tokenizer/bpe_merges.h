// The merges of a BPE model, and the merging of a word's symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headwise/version.h"
#include "tokenizer/model_memory.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

struct BpeMerge {
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  std::uint32_t merged = 0;
  std::uint32_t rank = 0;
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
  static constexpr std::uint32_t kNoRank = UINT32_MAX;
  struct Slot {
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::uint32_t rank = kNoRank;  // kNoRank: free
    std::uint32_t merged = 0;
  };

  // The slot of the pair; a free one if it has no merge.
  std::size_t place(std::uint32_t left, std::uint32_t right) const;
  const Slot& find(std::uint32_t left, std::uint32_t right) const {
    return slots_[place(left, right)];
  }
  using Symbols = std::vector<BpeSymbol>;
  using Queue = std::vector<std::uint64_t>;
  void merge_few(Symbols& symbols) const;
  void merge_many(Symbols& symbols, Queue& queue) const;
  bool push_pair(const Symbols& symbols, std::uint32_t left,
                 Queue& queue) const;
  bool merge_at(Symbols& symbols, std::uint32_t at, std::uint32_t rank) const;

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> merged_;  // by rank; empty if merges share ranks
  bool grow_ = true;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
