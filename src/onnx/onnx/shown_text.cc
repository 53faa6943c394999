#include "onnx/shown_text.h"

namespace headwise::inline HEADWISE_ABI {

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 200;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result;
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      result += "\\x";
      result += kDigits[byte >> 4];
      result += kDigits[byte & 15];
    } else {
      result += c;
    }
  }
  return result + (text.size() > kMost ? "..." : "");
}

}  // namespace headwise::inline HEADWISE_ABI
