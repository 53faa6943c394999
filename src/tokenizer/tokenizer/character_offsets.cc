#include <algorithm>
#include <cstddef>

#include "headwise/tokenizer/tokenizer.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI {

std::vector<ByteSpan> character_offsets(std::string_view text,
                                        std::span<const ByteSpan> offsets) {
  const auto count = [&](std::size_t begin, std::size_t end) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text.substr(begin, end - begin),
        [](char byte) { return !tokenizer::continues_character(byte); }));
  };
  std::vector<ByteSpan> characters(offsets.begin(), offsets.end());
  if (count(0, text.size()) == text.size()) {
    return characters;
  }
  // Counts from the last position on, so ascending ones take one walk.
  std::size_t last = 0;
  std::size_t before_last = 0;
  const auto characters_before = [&](std::size_t byte) -> std::size_t {
    byte = std::min(byte, text.size());
    if (byte == 0) {  // an added token: does not go back for it
      return 0;
    }
    before_last = byte >= last ? before_last + count(last, byte)
                               : before_last - count(byte, last);
    last = byte;
    return before_last;
  };
  for (ByteSpan& span : characters) {
    span = {characters_before(span.begin), characters_before(span.end)};
  }
  return characters;
}

}  // namespace headwise::inline HEADWISE_ABI
