#include <utility>

#include "tokenizer/pre_tokenizer.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

void PieceList::start(const AlignedText& source, const Piece& whole) {
  text_ = &source;
  pieces_.assign(1, whole);
  next_.clear();
}

void PieceList::keep(std::uint32_t begin, std::uint32_t end) {
  if (begin < end) {
    next_.push_back({begin, end});
  }
}

void PieceList::exchange_pieces() {
  std::swap(pieces_, next_);
  next_.clear();
}

AlignedText& PieceList::start_changed() {
  spare().start(*text_);
  return spare();
}

void PieceList::keep_changed(std::size_t begin) {
  keep(static_cast<std::uint32_t>(begin),
       static_cast<std::uint32_t>(spare().text().size()));
}

void PieceList::exchange_texts() {
  text_ = &spare();
  exchange_pieces();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
