#include "tokenizer/piece_trie.h"

#include <algorithm>
#include <array>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::uint32_t kTrieBlock = 256;
// A block with few free places is not looked at again, so that building takes
// linear time.
constexpr std::uint32_t kOpenBlocks = 16;

}  // namespace

class PieceTrieBuilder {
 public:
  PieceTrieBuilder(std::vector<PieceTrie::Piece> pieces,
                   std::vector<PieceTrie::Node>& nodes)
      : pieces_(std::move(pieces)), nodes_(nodes) {}

  void build();

 private:
  // The pieces [begin, end) have the `depth` bytes of a node in common.
  struct Range {
    std::size_t begin;
    std::size_t end;
    std::size_t depth;
    std::uint32_t node;
  };

  unsigned char byte(std::size_t piece, std::size_t depth) const {
    return static_cast<unsigned char>(pieces_[piece].first[depth]);
  }
  std::size_t end_of_child(std::size_t begin, const Range& range) const;
  void place_children(const Range& range);
  std::uint32_t free_base();
  bool fits(std::uint32_t base) const;
  void add_block();
  void take(std::uint32_t node);

  std::vector<PieceTrie::Piece> pieces_;
  std::vector<PieceTrie::Node>& nodes_;
  std::vector<Range> waiting_;
  std::vector<unsigned char> labels_;  // of the children to be placed
  // Free places of the open blocks, a ring through kFree; kNone: not free.
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> previous_;
  static constexpr std::uint32_t kFree = 0;  // the root's place
};

void PieceTrieBuilder::build() {
  std::ranges::sort(pieces_, {}, &PieceTrie::Piece::first);
  add_block();
  waiting_.push_back({0, pieces_.size(), 0, PieceTrie::root()});
  while (!waiting_.empty()) {
    Range range = waiting_.back();
    waiting_.pop_back();
    while (range.begin < range.end &&
           pieces_[range.begin].first.size() == range.depth) {
      nodes_[range.node].value = pieces_[range.begin].second;
      ++range.begin;
    }
    if (range.begin < range.end) {
      place_children(range);
    }
  }
}

std::size_t PieceTrieBuilder::end_of_child(std::size_t begin,
                                           const Range& range) const {
  const auto pieces = std::span(pieces_).subspan(begin, range.end - begin);
  const auto end = std::ranges::upper_bound(
      pieces, byte(begin, range.depth), {}, [&](const PieceTrie::Piece& piece) {
        return static_cast<unsigned char>(piece.first[range.depth]);
      });
  return begin + static_cast<std::size_t>(end - pieces.begin());
}

void PieceTrieBuilder::place_children(const Range& range) {
  const std::size_t first_waiting = waiting_.size();
  labels_.clear();
  for (std::size_t begin = range.begin; begin < range.end;) {
    const std::size_t end = end_of_child(begin, range);
    labels_.push_back(byte(begin, range.depth));
    waiting_.push_back({begin, end, range.depth + 1, labels_.back()});
    begin = end;
  }
  const std::uint32_t base = free_base();
  nodes_[range.node].base = base;
  for (std::size_t n = first_waiting; n < waiting_.size(); ++n) {
    waiting_[n].node ^= base;
    take(waiting_[n].node);
    nodes_[waiting_[n].node].parent = range.node;
  }
}

std::uint32_t PieceTrieBuilder::free_base() {
  for (std::uint32_t at = next_[kFree]; at != kFree; at = next_[at]) {
    if (fits(at ^ labels_[0])) {
      return at ^ labels_[0];
    }
  }
  const auto base = static_cast<std::uint32_t>(nodes_.size());
  add_block();
  return base;
}

bool PieceTrieBuilder::fits(std::uint32_t base) const {
  return std::ranges::all_of(labels_, [&](unsigned char label) {
    const std::uint32_t at = base ^ label;
    return at != kFree && previous_[at] != PieceTrie::kNone;
  });
}

void PieceTrieBuilder::add_block() {
  const auto begin = static_cast<std::uint32_t>(nodes_.size());
  nodes_.resize(begin + kTrieBlock);
  next_.resize(nodes_.size(), PieceTrie::kNone);
  previous_.resize(nodes_.size(), PieceTrie::kNone);
  if (begin == 0) {
    next_[kFree] = previous_[kFree] = kFree;
  }
  for (std::uint32_t at = std::max(begin, 1U); at < nodes_.size(); ++at) {
    previous_[at] = previous_[kFree];
    next_[previous_[at]] = at;
    next_[at] = kFree;
    previous_[kFree] = at;
  }
  if (begin >= kOpenBlocks * kTrieBlock) {
    const std::uint32_t closed = begin - kOpenBlocks * kTrieBlock;
    for (std::uint32_t at = closed; at < closed + kTrieBlock; ++at) {
      if (at != kFree && previous_[at] != PieceTrie::kNone) {
        take(at);
      }
    }
  }
}

void PieceTrieBuilder::take(std::uint32_t node) {
  next_[previous_[node]] = next_[node];
  previous_[next_[node]] = previous_[node];
  previous_[node] = PieceTrie::kNone;
}

PieceTrie::PieceTrie(std::vector<Piece> pieces) {
  PieceTrieBuilder(std::move(pieces), nodes_).build();
}

std::uint32_t PieceTrie::descendant(std::uint32_t node,
                                    std::string_view bytes) const {
  for (const char byte : bytes) {
    node = node == kNone ? kNone : child(node, byte);
  }
  return node;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
