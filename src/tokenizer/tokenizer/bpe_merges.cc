#include "tokenizer/bpe_merges.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "tokenizer/byte_hash.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Up to here the next merge is found by looking at all pairs; longer words have
// a queue, so that their time is not quadratic.
constexpr std::size_t kFewSymbols = 64;
constexpr std::uint32_t kNoSymbol = UINT32_MAX;

}  // namespace

BpeMerges::BpeMerges(std::span<const BpeMerge> merges, bool grow)
    : slots_(std::bit_ceil(2 * merges.size() + 1)), grow_(grow) {
  bool shared = false;
  merged_.reserve(merges.size());
  for (const BpeMerge& merge : merges) {
    slots_[place(merge.left, merge.right)] = {merge.left, merge.right,
                                              merge.rank, merge.merged};
    shared = shared || merge.rank != merged_.size();
    merged_.push_back(merge.merged);
  }
  if (shared) {
    merged_.clear();
  }
}

std::size_t BpeMerges::place(std::uint32_t left, std::uint32_t right) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t n = pair_hash(left, right) & mask;
  while (slots_[n].rank != kNoRank &&
         (slots_[n].left != left || slots_[n].right != right)) {
    n = (n + 1) & mask;
  }
  return n;
}

void BpeMerges::apply(ModelMemory& memory) const {
  if (grow_ && memory.symbols.size() <= kFewSymbols) {
    merge_few(memory.symbols);
  } else {
    merge_many(memory.symbols, memory.queue);
  }
}

void BpeMerges::merge_few(Symbols& symbols) const {
  const auto set_rank = [&](std::size_t n) {
    symbols[n].rank = kNoRank;
    if (n + 1 < symbols.size()) {
      const Slot& pair = find(symbols[n].id, symbols[n + 1].id);
      symbols[n].rank = pair.rank;
      symbols[n].merged = pair.merged;
    }
  };
  for (std::size_t n = 0; n < symbols.size(); ++n) {
    set_rank(n);
  }
  while (symbols.size() > 1) {
    const auto best = std::ranges::min_element(symbols, {}, &BpeSymbol::rank);
    if (best->rank == kNoRank) {
      return;
    }
    best->id = best->merged;
    best->size += std::next(best)->size;
    symbols.erase(std::next(best));
    const auto at = static_cast<std::size_t>(best - symbols.begin());
    set_rank(at);
    if (at > 0) {
      set_rank(at - 1);
    }
  }
}

void BpeMerges::merge_many(Symbols& symbols, Queue& queue) const {
  queue.clear();
  const auto count = static_cast<std::uint32_t>(symbols.size());
  for (std::uint32_t n = 0; n < count; ++n) {
    symbols[n].previous = n == 0 ? kNoSymbol : n - 1;
    symbols[n].next = n + 1 < count ? n + 1 : kNoSymbol;
    push_pair(symbols, n, queue);
  }
  std::ranges::make_heap(queue, std::greater<>());
  const auto push = [&](std::uint32_t left) {
    if (push_pair(symbols, left, queue)) {
      std::ranges::push_heap(queue, std::greater<>());
    }
  };
  while (!queue.empty()) {
    std::ranges::pop_heap(queue, std::greater<>());
    const std::uint64_t best = queue.back();
    queue.pop_back();
    const auto at = static_cast<std::uint32_t>(best);
    if (merge_at(symbols, at, static_cast<std::uint32_t>(best >> 32U))) {
      push(at);
      push(symbols[at].previous);
    }
  }
  std::erase_if(symbols, [](const BpeSymbol& one) { return one.size == 0; });
}

// An entry of the queue is a rank and the place of the left symbol.
bool BpeMerges::push_pair(const Symbols& symbols, std::uint32_t left,
                          Queue& queue) const {
  if (left == kNoSymbol || symbols[left].next == kNoSymbol) {
    return false;
  }
  const std::uint32_t rank =
      find(symbols[left].id, symbols[symbols[left].next].id).rank;
  if (rank != kNoRank) {
    queue.push_back(std::uint64_t{rank} << 32U | left);
  }
  return rank != kNoRank;
}

bool BpeMerges::merge_at(Symbols& symbols, std::uint32_t at,
                         std::uint32_t rank) const {
  BpeSymbol& left = symbols[at];
  if (left.size == 0 || left.next == kNoSymbol) {
    return false;
  }
  BpeSymbol& right = symbols[left.next];
  const Slot& pair = find(left.id, right.id);
  // As in the reference, an old entry is not out of date if its pair was
  // replaced by one that makes the same token.
  const bool same =
      merged_.empty() ? pair.rank == rank : pair.merged == merged_[rank];
  if (pair.rank == kNoRank || !same) {
    return false;
  }
  left.id = pair.merged;
  left.size += right.size;
  left.next = right.next;
  right.size = 0;
  if (left.next != kNoSymbol) {
    symbols[left.next].previous = at;
  }
  return true;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
