#include "tokenizer/byte_sequence.h"

#include <algorithm>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// The length of the character that begins with a byte; 0 if none does.
std::size_t length_of(unsigned char lead) {
  if (lead < 0x80) {
    return 1;
  }
  if (lead < 0xC2 || lead > 0xF4) {
    return 0;
  }
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// Excludes overlong forms, surrogates and what lies beyond U+10FFFF.
bool may_be_second(unsigned char lead, unsigned char byte) {
  const unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return least <= byte && byte <= most;
}

}  // namespace

ByteSequence first_sequence(std::string_view text) {
  const auto byte = [&](std::size_t n) {
    return static_cast<unsigned char>(text[n]);
  };
  const std::size_t length = length_of(byte(0));
  if (length == 0) {
    return {1, SequenceKind::broken};
  }
  for (std::size_t n = 1; n < length; ++n) {
    if (n == text.size()) {
      return {n, SequenceKind::cut};
    }
    if (n == 1 ? !may_be_second(byte(0), byte(1))
               : (byte(n) & 0xC0U) != 0x80U) {
      return {n, SequenceKind::broken};
    }
  }
  return {length, SequenceKind::whole};
}

void move_characters(std::string& bytes, std::string& text, bool last) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto ascii_end = std::find_if(
        bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(),
        [](char byte) { return static_cast<unsigned char>(byte) >= 0x80; });
    const auto end = static_cast<std::size_t>(ascii_end - bytes.begin());
    text.append(bytes, at, end - at);
    at = end;
    if (at == bytes.size()) {
      break;
    }
    const ByteSequence next =
        first_sequence(std::string_view(bytes).substr(at));
    if (next.kind == SequenceKind::cut && !last) {
      break;
    }
    if (next.kind == SequenceKind::whole) {
      text.append(bytes, at, next.bytes);
    } else {
      text += kReplacementCharacter;
    }
    at += next.bytes;
  }
  bytes.erase(0, at);
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
