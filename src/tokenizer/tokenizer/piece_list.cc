#include "tokenizer/pre_tokenizer.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Whether a segment joins the one before it.
bool joins(SplitBehavior behavior, bool was_match, bool is_match) {
  switch (behavior) {
    case SplitBehavior::merged_with_previous:
      return is_match && !was_match;
    case SplitBehavior::merged_with_next:
      return was_match && !is_match;
    case SplitBehavior::contiguous:
      return is_match == was_match;
    default:
      return false;
  }
}

}  // namespace

void PieceList::start(const AlignedText& source, const Piece& whole) {
  text_ = &source;
  pieces_.assign(1, whole);
}

Status PieceList::split(const Find& find, SplitBehavior behavior, bool invert) {
  next_.clear();
  for (const Piece& piece : pieces_) {
    matches_.clear();
    HEADWISE_TRY(find(view(piece), matches_));
    split_at_matches(piece, behavior, invert);
  }
  std::swap(pieces_, next_);
  return ok();
}

void PieceList::split_at_matches(const Piece& piece, SplitBehavior behavior,
                                 bool invert) {
  std::uint32_t begin = 0;  // of the segments that wait, at first an empty one
  std::uint32_t end = 0;
  bool was_match = false;
  const auto release = [&] {
    if (!was_match || behavior != SplitBehavior::removed) {
      keep(piece.begin + begin, piece.begin + end);
    }
    begin = end;
  };
  const auto take = [&](std::uint32_t segment_end, bool is_match) {
    if (!joins(behavior, was_match, is_match)) {
      release();
    }
    end = segment_end;
    was_match = is_match;
  };
  for (const Match& match : matches_) {
    if (match.begin > end) {
      take(match.begin, invert);
    }
    take(match.end, !invert);
  }
  if (end < piece.end - piece.begin) {
    take(piece.end - piece.begin, invert);
  }
  release();
}

void PieceList::change(const Put& put) {
  AlignedText& changed = spares_[text_ == &spares_[0] ? 1 : 0];
  changed.start(*text_);
  next_.clear();
  for (const Piece& piece : pieces_) {
    const std::size_t begin = changed.text().size();
    put(*text_, piece, changed);
    keep(begin, changed.text().size());
  }
  text_ = &changed;
  std::swap(pieces_, next_);
}

void PieceList::keep(std::size_t begin, std::size_t end) {
  if (begin < end) {
    next_.push_back(
        {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
  }
}

Status PreTokenizer::apply(PieceList& pieces) const {
  for (const Step& step : steps_) {
    HEADWISE_TRY(step(pieces));
  }
  return ok();
}

bool PreTokenizer::leave_bytes() {
  if (ends_with_alphabet_) {
    steps_.pop_back();
  }
  return std::exchange(ends_with_alphabet_, false);
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
