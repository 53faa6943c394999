#include "tokenizer/bpe_merges.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "tokenizer/byte_hash.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Up to here the next merge is found by looking at all pairs; longer words have
// a queue, so that their time is not quadratic.
constexpr std::size_t kFewSymbols = 64;
constexpr std::uint32_t kNoSymbol = UINT32_MAX;

// A symbol, and the merge with the one after it.
struct RankedSymbol {
  std::uint32_t id;
  std::uint32_t size;
  std::uint32_t rank;
  std::uint32_t merged;
};

}  // namespace

BpeMerges::BpeMerges(std::span<const BpeMerge> merges, bool grow)
    : slots_(std::bit_ceil(2 * merges.size() + 1)), grow_(grow) {
  merged_.reserve(merges.size());
  for (const BpeMerge& merge : merges) {
    const auto rank = static_cast<std::uint32_t>(merged_.size());
    slots_[place(merge.left, merge.right)] = {merge.left, merge.right, rank,
                                              merge.merged};
    merged_.push_back(merge.merged);
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
    merge_many(memory);
  }
}

void BpeMerges::merge_few(std::vector<BpeSymbol>& symbols) const {
  std::array<RankedSymbol, kFewSymbols> parts;  // NOLINT: set below
  std::size_t count = symbols.size();
  const auto rank = [&](std::size_t n) {
    const Slot& pair = find(parts[n].id, parts[n + 1].id);
    parts[n].rank = pair.rank;
    parts[n].merged = pair.merged;
  };
  for (std::size_t n = 0; n < count; ++n) {
    parts[n] = {symbols[n].id, symbols[n].size, kNoRank, 0};
  }
  for (std::size_t n = 0; n + 1 < count; ++n) {
    rank(n);
  }
  while (count > 1) {
    const auto best = static_cast<std::size_t>(
        std::ranges::min_element(parts.begin(), parts.begin() + count, {},
                                 &RankedSymbol::rank) -
        parts.begin());
    if (parts[best].rank == kNoRank) {
      break;
    }
    parts[best].id = parts[best].merged;
    parts[best].size += parts[best + 1].size;
    std::copy(parts.begin() + best + 2, parts.begin() + count,
              parts.begin() + best + 1);
    --count;
    parts[best].rank = kNoRank;
    if (best + 1 < count) {
      rank(best);
    }
    if (best > 0) {
      rank(best - 1);
    }
  }
  symbols.resize(count);
  for (std::size_t n = 0; n < count; ++n) {
    symbols[n] = {parts[n].id, parts[n].size};
  }
}

void BpeMerges::merge_many(ModelMemory& memory) const {
  std::vector<LinkedBpeSymbol>& links = memory.links;
  links.clear();
  for (const BpeSymbol& symbol : memory.symbols) {
    const auto n = static_cast<std::uint32_t>(links.size());
    links.push_back({symbol.id, symbol.size, n - 1, n + 1});
  }
  if (!links.empty()) {
    links.back().next = kNoSymbol;
  }
  merge_links(links, memory.queue);
  memory.symbols.clear();
  for (const LinkedBpeSymbol& link : links) {
    if (link.size > 0) {
      memory.symbols.push_back({link.id, link.size});
    }
  }
}

void BpeMerges::merge_links(std::vector<LinkedBpeSymbol>& links,
                            std::vector<std::uint64_t>& queue) const {
  queue.clear();
  for (std::uint32_t n = 0; n + 1 < links.size(); ++n) {
    push_pair(links, n, queue);
  }
  std::ranges::make_heap(queue, std::greater<>());
  const auto push = [&](std::uint32_t left) {
    if (push_pair(links, left, queue)) {
      std::ranges::push_heap(queue, std::greater<>());
    }
  };
  while (!queue.empty()) {
    std::ranges::pop_heap(queue, std::greater<>());
    const std::uint64_t best = queue.back();
    queue.pop_back();
    const auto at = static_cast<std::uint32_t>(best);
    if (merge_at(links, at, merged_[best >> 32U])) {
      if (links[at].next != kNoSymbol) {
        push(at);
      }
      if (links[at].previous != kNoSymbol) {
        push(links[at].previous);
      }
    }
  }
}

// An entry of the queue is a rank and the place of the left symbol.
bool BpeMerges::push_pair(const std::vector<LinkedBpeSymbol>& links,
                          std::uint32_t left,
                          std::vector<std::uint64_t>& queue) const {
  const std::uint32_t rank =
      find(links[left].id, links[links[left].next].id).rank;
  if (rank != kNoRank) {
    queue.push_back(std::uint64_t{rank} << 32U | left);
  }
  return rank != kNoRank;
}

bool BpeMerges::merge_at(std::vector<LinkedBpeSymbol>& links, std::uint32_t at,
                         std::uint32_t merged) const {
  LinkedBpeSymbol& left = links[at];
  if (left.size == 0 || left.next == kNoSymbol) {
    return false;
  }
  LinkedBpeSymbol& right = links[left.next];
  const Slot& pair = find(left.id, right.id);
  // As in the reference, an old entry is not out of date if its pair was
  // replaced by one that makes the same token.
  if (pair.rank == kNoRank || pair.merged != merged) {
    return false;
  }
  left.id = merged;
  left.size += right.size;
  left.next = right.next;
  right.size = 0;
  if (left.next != kNoSymbol) {
    links[left.next].previous = at;
  }
  return true;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
