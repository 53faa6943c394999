#include "inspect/pictures/svg_text.h"

#include <algorithm>
#include <cstddef>

#include "base/check.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The number of bytes of the character that `text` begins with; 0 if it is not
// UTF-8, or is a character that XML forbids.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t n) -> unsigned {
    return n < text.size() ? static_cast<unsigned char>(text[n]) : 0;
  };
  const auto follows = [&](std::size_t n) { return byte(n) >> 6 == 2; };
  const unsigned lead = byte(0);
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead < 0xE0) {
    return follows(1) ? 2 : 0;
  }
  if (lead >= 0xE0 && lead < 0xF0) {
    const unsigned code =
        (lead & 0xF) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    return follows(1) && follows(2) && code >= 0x800 && !surrogate &&
                   code < 0xFFFE
               ? 3
               : 0;
  }
  const unsigned top = (lead & 7) << 6 | (byte(1) & 0x3F);  // code >> 12
  return lead >= 0xF0 && lead < 0xF5 && follows(1) && follows(2) &&
                 follows(3) && top >= 0x10 && top < 0x110
             ? 4
             : 0;
}

std::string_view escape_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    default:
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? " " : "";
  }
}

}  // namespace

std::string svg_text(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const std::string_view escape = escape_of(text.front());
    escaped += bytes == 0       ? "\xEF\xBF\xBD"
               : escape.empty() ? text.substr(0, bytes)
                                : escape;
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return escaped;
}

std::string svg_number(double number) { return number_text(number, 6); }

double text_columns(std::string_view text) {
  double columns = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    columns += byte < 0x80 ? 1 : (byte >= 0xC0 ? 2 : 0);
  }
  return columns;
}

std::string cut_text(std::string_view text, double columns) {
  if (text_columns(text) <= columns) {
    return std::string(text);
  }
  double left = columns - 1;  // for the "…"
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t bytes =
        std::max<std::size_t>(character_bytes(text.substr(end)), 1);
    left -= text_columns(text.substr(end, bytes));
    if (left < 0) {
      break;
    }
    end += bytes;
  }
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace headwise::inline HEADWISE_ABI
