#include "tokenizer/split.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Takes the segments of a piece, matches and what lies between them, from left
// to right.
class Splitter {
 public:
  Splitter(SplitBehavior behavior, const Piece& piece, PieceList& pieces)
      : behavior_(behavior),
        first_(piece.begin),
        begin_(piece.begin),
        end_(piece.begin),
        pieces_(pieces) {}

  // The segment up to byte `end` of the piece.
  void take(std::uint32_t end, bool is_match) {
    if (!joins_held(is_match)) {
      release();
    }
    end_ = first_ + end;
    removed_ = is_match && behavior_ == SplitBehavior::removed;
    was_match_ = is_match;
    any_ = true;
  }

  void release() {
    if (!removed_) {
      pieces_.keep(begin_, end_);
    }
    begin_ = end_;
  }

 private:
  bool joins_held(bool is_match) const {
    switch (behavior_) {
      case SplitBehavior::merged_with_previous:
        return any_ && is_match && !was_match_;
      case SplitBehavior::merged_with_next:
        return any_ && was_match_ && !is_match;
      case SplitBehavior::contiguous:
        return any_ && is_match == was_match_;
      default:
        return false;
    }
  }

  SplitBehavior behavior_;
  std::uint32_t first_;
  std::uint32_t begin_;  // of the segments that are held
  std::uint32_t end_;
  bool removed_ = false;
  bool was_match_ = false;
  bool any_ = false;
  PieceList& pieces_;
};

}  // namespace

void split_at(const std::vector<Match>& matches, SplitBehavior behavior,
              bool invert, const Piece& piece, PieceList& pieces) {
  Splitter splitter(behavior, piece, pieces);
  std::uint32_t done = 0;
  for (const Match& match : matches) {
    if (match.begin > done) {
      splitter.take(match.begin, invert);
    }
    splitter.take(match.end, !invert);
    done = match.end;
  }
  if (done < piece.end - piece.begin) {
    splitter.take(piece.end - piece.begin, invert);
  }
  splitter.release();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
