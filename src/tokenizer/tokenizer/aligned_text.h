// A text on its way to tokens: normalizers and pre-tokenizers change it, and
// each of its bytes still knows the bytes of the original text it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/version.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// The bytes [begin, end) of the original text.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool operator==(const Span&) const = default;
};

class AlignedText {
 public:
  // Becomes an unchanged part of the original, which begins at its byte
  // `begin`. `part` must outlive this.
  void view(std::string_view part, std::uint32_t begin);

  std::string_view text() const { return is_view_ ? viewed_ : own_; }
  // Where the part of the original begins.
  std::uint32_t begin() const { return begin_; }
  // What bytes [begin, end) came from. Bytes of a character that was not
  // changed came from the whole character.
  Span from(std::size_t begin, std::size_t end) const;

  // Becomes an empty text for what follows, made from the part of the original
  // that `source` was made from.
  void start(const AlignedText& source);
  void append(std::string_view bytes, Span from);
  void append(char32_t code, Span from);
  // Bytes [begin, end) of `source`, unchanged; whole characters.
  void append(const AlignedText& source, std::size_t begin, std::size_t end);

 private:
  bool is_view_ = true;
  std::uint32_t begin_ = 0;
  std::string_view viewed_;
  std::string own_;
  std::vector<Span> from_;  // of each byte of own_
};

// Writes a changed copy of a text, character by character, with the positions
// of the reference. `change` says what becomes of the source's characters:
//
//    0   the character takes the place of the next one
//    1   it is inserted: it came from where the one before it came from
//   -n   it takes the place of the next one, and the n after that are dropped
class Transform {
 public:
  // Of the bytes [begin, end) of `source`. `result` was started.
  Transform(const AlignedText& source, std::size_t begin, std::size_t end,
            AlignedText& result)
      : source_(source),
        first_(begin),
        at_(begin),
        end_(end),
        result_(result) {}

  // Drops the next `count` characters.
  void drop(std::size_t count);
  void put(char32_t code, int change);

 private:
  const AlignedText& source_;
  std::size_t first_;
  std::size_t at_;
  std::size_t end_;
  AlignedText& result_;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
