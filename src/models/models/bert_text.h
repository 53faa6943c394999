// A sentence on its way to words, as BERT normalises it, character by
// character; each knows the bytes of the sentence that it came from:
//
//   clean      NUL, U+FFFD, control and format characters are dropped, white
//              space becomes ' '
//   spaced     a CJK ideograph is a word of its own: ' ' before and behind it
//   stripped   canonically decomposed, without marks that take no space
//   lowered    in lower case
//
// Nothing is kept but a run of combining marks, 4 bytes each.
//
// Source: the tokenizer of Devlin et al. 2018, arXiv:1810.04805; positions
// where marks are sorted are those of the reference (the nth character of the
// sorted text is said to come from the nth of the unsorted).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headwise/models/wordpiece.h"

namespace headwise::inline HEADWISE_ABI::bert {

struct Character {
  char32_t code = 0;
  ByteSpan from;
};

// The first two of the four ways. Cheap to copy.
class SpacedText {
 public:
  // `text` is valid UTF-8; its first byte is byte `begin` of the sentence.
  SpacedText(std::string_view text, std::size_t begin, bool space_cjk)
      : rest_(text), at_(begin), space_cjk_(space_cjk) {}

  std::optional<Character> next();

 private:
  std::string_view rest_;
  std::size_t at_;  // where rest_ begins in the sentence
  bool space_cjk_;
  Character ideograph_;
  int owed_ = 0;  // 2: the ideograph and the space behind it, 1: the space
};

class StrippedText {
 public:
  StrippedText(SpacedText text, bool strip)
      : text_(text), sources_(text), strip_(strip) {}

  std::optional<Character> next();

 private:
  // A decomposed character that waits for its turn.
  struct Piece {
    std::uint32_t code : 21;
    std::uint32_t follows : 1;  // has its source in common with the one before
    std::uint32_t combining_class : 8;
  };

  // The character and the marks that come behind it become pieces.
  void decompose(char32_t first);
  void add_pieces(char32_t code);
  void sort_marks();

  SpacedText text_;
  // The same text, behind by the characters that pieces_ came from: it says
  // where they stood.
  SpacedText sources_;
  bool strip_;
  std::vector<Piece> pieces_;
  std::size_t next_piece_ = 0;
  ByteSpan source_;  // of the last piece
};

class BertText {
 public:
  BertText(std::string_view text, std::size_t begin,
           const WordPieceOptions& options);

  std::optional<Character> next();

 private:
  StrippedText text_;
  bool lower_;
  Character owed_;  // the second of two lower-case characters; code 0: none
};

}  // namespace headwise::inline HEADWISE_ABI::bert
