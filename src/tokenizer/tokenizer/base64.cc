#include "tokenizer/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> kDigitValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t n = 0; n < kBase64Digits.size(); ++n) {
    values[static_cast<unsigned char>(kBase64Digits[n])] =
        static_cast<std::uint8_t>(n);
  }
  return values;
}();

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return {};
  }
  std::size_t padding = 0;
  for (; padding < 2 && text.ends_with('='); ++padding) {
    text.remove_suffix(1);
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  for (std::size_t n = 0; n < text.size(); ++n) {
    const std::uint8_t value =
        kDigitValues[static_cast<unsigned char>(text[n])];
    if (value == kNoDigit) {
      return {};
    }
    bits = bits << 6U | value;
    if (n % 4 != 0) {
      // 6, 4 and 2 bits are left for the next byte.
      bytes += static_cast<char>(bits >> (6 - 2 * (n % 4)) & 0xFFU);
    }
  }
  const std::uint32_t unused = padding == 0 ? 0 : (1U << (2 * padding)) - 1;
  return (bits & unused) == 0 ? std::optional(std::move(bytes)) : std::nullopt;
}

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (; !bytes.empty();
       bytes.remove_prefix(std::min<std::size_t>(3, bytes.size()))) {
    std::uint32_t bits = 0;
    for (std::size_t n = 0; n < 3; ++n) {
      bits = bits << 8U |
             (n < bytes.size() ? static_cast<unsigned char>(bytes[n]) : 0U);
    }
    for (std::size_t n = 0; n < 4; ++n) {
      text +=
          n > bytes.size() ? '=' : kBase64Digits[bits >> (18 - 6 * n) & 0x3FU];
    }
  }
  return text;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
