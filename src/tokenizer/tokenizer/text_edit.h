// A changed copy of a text: what is not replaced stays as it is.
#pragma once

#include <cstddef>
#include <string_view>

#include "headwise/version.h"
#include "tokenizer/aligned_text.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

class TextEdit {
 public:
  // `result` is started by the first change.
  TextEdit(const AlignedText& source, AlignedText& result)
      : source_(source), result_(result) {}

  // Drops the bytes [begin, end) of the source, which come after those that
  // were dropped before. What is put next takes their place.
  void drop(std::size_t begin, std::size_t end);
  void put(char32_t code, Span from) { result_.append(code, from); }
  void put(std::string_view bytes, Span from) { result_.append(bytes, from); }
  // The same in place of one character, which it comes from.
  void replace(std::size_t begin, std::size_t end, char32_t code);

  // Copies what is left. False if nothing changed.
  bool finish();

 private:
  const AlignedText& source_;
  AlignedText& result_;
  bool changed_ = false;
  std::size_t copied_ = 0;  // the source before this is in the result
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
