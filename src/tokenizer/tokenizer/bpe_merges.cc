#include "tokenizer/bpe_merges.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Up to here the next merge is found by looking at all pairs; longer words have
// a queue, so that their time is not quadratic.
constexpr std::size_t kFewSymbols = 64;
constexpr std::uint32_t kNoSymbol = UINT32_MAX;

}  // namespace

BpeMerges::BpeMerges(std::span<const BpeMerge> merges, bool grow)
    : slots_(std::bit_ceil(2 * merges.size() + 2)),
      shift_(static_cast<std::uint32_t>(
          std::countl_zero(std::uint64_t{slots_.size() - 1}))),
      grow_(grow) {
  bool shared = false;
  merged_.reserve(merges.size());
  for (const BpeMerge& merge : merges) {
    slots_[place(merge.left, merge.right)] = merge;
    shared = shared || merge.rank != merged_.size();
    merged_.push_back(merge.merged);
  }
  if (shared) {
    merged_.clear();
  }
}

std::size_t BpeMerges::place(ModelId left, ModelId right) const {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
  std::size_t n = (std::uint64_t{left} << 32U | right) * kOdd >> shift_;
  while (slots_[n].rank != BpeMerge::kNoRank &&
         (slots_[n].left != left || slots_[n].right != right)) {
    n = (n + 1) & (slots_.size() - 1);
  }
  return n;
}

void BpeMerges::apply(ModelMemory& memory) const {
  auto& symbols = memory.symbols;
  auto& queue = memory.queue;
  const bool queued = !grow_ || symbols.size() > kFewSymbols;
  queue.clear();
  const auto count = static_cast<std::uint32_t>(symbols.size());
  for (std::uint32_t n = 0; n < count; ++n) {
    symbols[n].previous = n - 1;  // kNoSymbol before the first one
    symbols[n].next = n + 1 < count ? n + 1 : kNoSymbol;
    rank_pair(memory, n, queued);
  }
  while (queued ? !queue.empty() : !symbols.empty()) {
    if (!queued) {
      const auto best = std::ranges::min_element(symbols, {}, &BpeSymbol::rank);
      if (best->rank == BpeMerge::kNoRank) {
        break;
      }
      merge_pair(memory, static_cast<std::uint32_t>(best - symbols.begin()),
                 queued);
      continue;
    }
    std::ranges::pop_heap(queue, std::greater<>());
    const auto at = static_cast<std::uint32_t>(queue.back());
    const auto rank = static_cast<std::uint32_t>(queue.back() >> 32U);
    queue.pop_back();
    // As in the reference, an old entry is not out of date if its pair was
    // replaced by one that makes the same token.
    const BpeSymbol& left = symbols[at];
    if (left.rank != BpeMerge::kNoRank &&
        (merged_.empty() ? left.rank == rank : left.merged == merged_[rank])) {
      merge_pair(memory, at, queued);
    }
  }
  std::erase_if(symbols, [](const BpeSymbol& one) { return one.size == 0; });
}

void BpeMerges::rank_pair(ModelMemory& memory, std::uint32_t at,
                          bool queued) const {
  BpeSymbol& left = memory.symbols[at];
  left.rank = BpeMerge::kNoRank;
  if (left.next == kNoSymbol) {
    return;
  }
  const BpeMerge& merge = slots_[place(left.id, memory.symbols[left.next].id)];
  left.rank = merge.rank;
  left.merged = merge.merged;
  if (queued && merge.rank != BpeMerge::kNoRank) {
    memory.queue.push_back(std::uint64_t{merge.rank} << 32U | at);
    std::ranges::push_heap(memory.queue, std::greater<>());
  }
}

void BpeMerges::merge_pair(ModelMemory& memory, std::uint32_t at,
                           bool queued) const {
  BpeSymbol& left = memory.symbols[at];
  BpeSymbol& right = memory.symbols[left.next];
  left.id = left.merged;
  left.size += right.size;
  left.next = right.next;
  right.size = 0;
  right.rank = BpeMerge::kNoRank;
  if (left.next != kNoSymbol) {
    memory.symbols[left.next].previous = at;
  }
  rank_pair(memory, at, queued);
  if (left.previous != kNoSymbol) {
    rank_pair(memory, left.previous, queued);
  }
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
