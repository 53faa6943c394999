#include "models/bert_text.h"

#include <algorithm>
#include <utility>

#include "interop/utf8.h"
#include "models/bert_characters.h"

namespace headwise::inline HEADWISE_ABI::bert {

// ---- Clean and spaced. ----

std::optional<Character> SpacedText::next() {
  if (owed_ > 0) {
    --owed_;
    return owed_ == 1 ? ideograph_ : Character{U' ', ideograph_.from};
  }
  while (const auto decoded = decode_utf8(rest_)) {
    const ByteSpan from{at_, at_ + decoded->bytes};
    rest_.remove_prefix(decoded->bytes);
    at_ = from.end;
    if (is_dropped(decoded->code)) {
      continue;
    }
    if (is_space(decoded->code)) {
      return Character{U' ', from};
    }
    if (space_cjk_ && is_cjk(decoded->code)) {
      ideograph_ = {decoded->code, from};
      owed_ = 2;
      return Character{U' ', from};
    }
    return Character{decoded->code, from};
  }
  return {};
}

// ---- Stripped. ----

std::optional<Character> StrippedText::next() {
  if (!strip_) {
    return text_.next();
  }
  for (;;) {
    while (next_piece_ < pieces_.size()) {
      const Piece piece = pieces_[next_piece_++];
      if (piece.follows == 0) {
        // There are as many sources as pieces that follow none.
        source_ = sources_.next().value_or(Character{}).from;
      }
      if (!is_accent(piece.code)) {
        return Character{piece.code, source_};
      }
    }
    sources_ = text_;
    const std::optional<Character> first = text_.next();
    if (!first || first->code < 0x80) {  // ASCII is what it decomposes to
      return first;
    }
    decompose(first->code);
  }
}

void StrippedText::decompose(char32_t first) {
  pieces_.clear();
  next_piece_ = 0;
  add_pieces(first);
  // Only marks change places, and only with adjacent marks.
  for (SpacedText ahead = text_; const auto mark = ahead.next();) {
    const Decomposition decomposition(mark->code);
    if (combining_class(decomposition.codes().front()) == 0) {
      break;
    }
    add_pieces(mark->code);
    text_ = ahead;
  }
  sort_marks();
}

void StrippedText::add_pieces(char32_t code) {
  const Decomposition decomposition(code);
  bool follows = false;
  for (const char32_t part : decomposition.codes()) {
    pieces_.push_back({.code = part & 0x1FFFFFU,
                       .follows = follows ? 1U : 0U,
                       .combining_class = combining_class(part)});
    follows = true;
  }
}

void StrippedText::sort_marks() {
  const auto is_mark = [](const Piece& piece) {
    return piece.combining_class != 0;
  };
  for (auto begin = pieces_.begin(); begin != pieces_.end();) {
    begin = std::find_if(begin, pieces_.end(), is_mark);
    const auto end = std::find_if_not(begin, pieces_.end(), is_mark);
    std::stable_sort(begin, end, [](const Piece& a, const Piece& b) {
      return a.combining_class < b.combining_class;
    });
    begin = end;
  }
}

// ---- Lowered. ----

BertText::BertText(std::string_view text, std::size_t begin,
                   const WordPieceOptions& options)
    : text_(SpacedText(text, begin, options.tokenize_chinese_chars),
            options.strip_accents.value_or(options.do_lower_case)),
      lower_(options.do_lower_case) {}

std::optional<Character> BertText::next() {
  if (owed_.code != 0) {
    return std::exchange(owed_, {});
  }
  std::optional<Character> character = text_.next();
  if (character && lower_) {
    const LowerCase lower = lower_case(character->code);
    character->code = lower.first;
    owed_ = {lower.second, character->from};
  }
  return character;
}

}  // namespace headwise::inline HEADWISE_ABI::bert
