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
  // Drops `end` from the end, as often as it is there.
  void drop_end(std::string_view end);

 private:
  bool is_view_ = true;
  std::uint32_t begin_ = 0;
  std::string_view viewed_;
  std::string own_;
  std::vector<Span> from_;  // of each byte of own_
};

// Writes a changed copy of a text. Parts that are not replaced are copied.
class TextEdit {
 public:
  // `result` is started by the first change.
  TextEdit(const AlignedText& source, AlignedText& result)
      : source_(source), result_(result) {}

  const AlignedText& source() const { return source_; }
  std::string_view text() const { return source_.text(); }

  // Drops the bytes [begin, end) of the source, which come after those that
  // were dropped before. What is put next takes their place.
  void drop(std::size_t begin, std::size_t end);
  void put(char32_t code, Span from) { result_.append(code, from); }
  void put(std::string_view bytes, Span from) { result_.append(bytes, from); }
  // Puts a character as the reference does:
  //    0   it takes the place of the next one
  //    1   it is inserted: it came from where the one before it came from
  //   -n   it takes the place of the next one, and the n after that are dropped
  void put_changed(char32_t code, int change);
  // From what was put and copied.
  void drop_end(std::string_view end) { result_.drop_end(end); }
  // Drops the source behind what was dropped before.
  void drop_rest() { copied_ = text().size(); }

  // Copies the rest of the text. False if nothing changed.
  bool finish();

 private:
  const AlignedText& source_;
  AlignedText& result_;
  bool changed_ = false;
  std::size_t copied_ = 0;  // the source before this is in the result
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
