#include <algorithm>
#include <cstddef>

#include "headwise/tokenizer/tokenizer.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return !tokenizer::continues_character(byte); }));
}

// Counts from the last position on, so ascending ones take one walk.
class CharacterCounter {
 public:
  explicit CharacterCounter(std::string_view text) : text_(text) {}

  std::size_t at(std::size_t byte) {
    byte = std::min(byte, text_.size());
    if (byte == 0) {  // an added token: does not go back for it
      return 0;
    }
    if (byte >= byte_) {
      characters_ += count_characters(text_.substr(byte_, byte - byte_));
    } else {
      characters_ -= count_characters(text_.substr(byte, byte_ - byte));
    }
    byte_ = byte;
    return characters_;
  }

 private:
  std::string_view text_;
  std::size_t byte_ = 0;
  std::size_t characters_ = 0;
};

}  // namespace

std::vector<ByteSpan> character_offsets(std::string_view text,
                                        std::span<const ByteSpan> offsets) {
  std::vector<ByteSpan> characters(offsets.begin(), offsets.end());
  if (count_characters(text) == text.size()) {
    return characters;
  }
  CharacterCounter counter(text);
  for (ByteSpan& span : characters) {
    span.begin = counter.at(span.begin);
    span.end = counter.at(span.end);
  }
  return characters;
}

}  // namespace headwise::inline HEADWISE_ABI
