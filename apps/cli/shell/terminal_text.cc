#include "terminal_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace headwise::cli {
namespace {

struct Character {
  char32_t code;
  std::size_t bytes;
};

// What `text`, which is not empty, begins with; a byte that begins no UTF-8
// stands for itself.
Character first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t bytes = lead < 0xC0   ? 1
                            : lead < 0xE0 ? 2
                            : lead < 0xF0 ? 3
                                          : 4;
  if (bytes == 1 || bytes > text.size()) {
    return {lead, 1};
  }
  char32_t code = lead & (0x7FU >> bytes);
  for (const char c : text.substr(1, bytes - 1)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >> 6 != 2) {
      return {lead, 1};
    }
    code = code << 6 | (byte & 0x3FU);
  }
  return {code, bytes};
}

struct Range {
  char32_t first;
  char32_t last;
};

template <std::size_t N>
bool is_in(const std::array<Range, N>& ranges, char32_t code) {
  return std::ranges::any_of(ranges, [&](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

// Unicode's East_Asian_Width W and F, and emoji, in blocks.
constexpr std::array<Range, 10> kWide = {{{0x1100, 0x115F},
                                          {0x2E80, 0x303E},
                                          {0x3041, 0xA4CF},
                                          {0xA960, 0xA97F},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE30, 0xFE6F},
                                          {0xFF01, 0xFF60},
                                          {0x1F300, 0x1FAFF},
                                          {0x20000, 0x3FFFD}}};
// Combining marks and joiners that are common, in blocks; the vowels and last
// consonants of Hangul that is taken apart.
constexpr std::array<Range, 7> kNoWidth = {{{0x0300, 0x036F},
                                            {0x1160, 0x11FF},
                                            {0x1AB0, 0x1AFF},
                                            {0x1DC0, 0x1DFF},
                                            {0x200B, 0x200D},
                                            {0x20D0, 0x20FF},
                                            {0xFE00, 0xFE0F}}};
// Marks, embeddings, overrides and isolates of direction, and the separators of
// lines and paragraphs.
constexpr std::array<Range, 4> kDirection = {
    {{0x061C, 0x061C}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}}};

std::size_t width_of(char32_t code) {
  if (is_in(kWide, code)) {
    return 2;
  }
  return is_in(kNoWidth, code) ? 0 : 1;
}

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

// A byte that begins no UTF-8 is none, either.
bool is_shown(const Character& character) {
  const auto [code, bytes] = character;
  return !is_control(code) && !is_in(kDirection, code) &&
         (bytes > 1 || code < 0x80);
}

bool all_shown(std::string_view text) {
  while (!text.empty() && is_shown(first_of(text))) {
    text.remove_prefix(first_of(text).bytes);
  }
  return text.empty();
}

// With escape(code) in place of each character that a terminal would obey.
template <class Escape>
std::string escaped(std::string_view text, const Escape& escape) {
  std::string safe;
  while (!text.empty()) {
    const auto [code, bytes] = first_of(text);
    safe += is_control(code) || is_in(kDirection, code)
                ? escape(code)
                : std::string(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return safe;
}

// $'a\x1b[b'
std::string escaped_word(std::string_view text) {
  std::string word = "$'";
  while (!text.empty()) {
    const Character first = first_of(text);
    for (const char c : text.substr(0, first.bytes)) {
      if (!is_shown(first)) {
        word += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        continue;
      }
      word += c == '\'' || c == '\\' ? "\\" : "";
      word += c;
    }
    text.remove_prefix(first.bytes);
  }
  return word + "'";
}

}  // namespace

std::string shown(std::string_view text) {
  return escaped(text, [](char32_t code) {
    const auto number = static_cast<unsigned>(code);
    return is_control(code) ? fmt::format("\\x{:02x}", number)
                            : fmt::format("\\u{{{:x}}}", number);
  });
}

std::string shown_json(std::string_view json) {
  return escaped(json, [](char32_t code) {
    return code == '\n' ? "\n"
                        : fmt::format("\\u{:04x}", static_cast<unsigned>(code));
  });
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const auto [code, bytes] = first_of(text);
    columns += width_of(code);
    text.remove_prefix(bytes);
  }
  return columns;
}

std::string beginning_of(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  std::size_t taken = 0;
  while (end < text.size()) {
    const auto [code, bytes] = first_of(text.substr(end));
    taken += width_of(code);
    if (taken > columns) {
      break;
    }
    end += bytes;
  }
  return std::string(text.substr(0, end));
}

std::string cut_to(std::string_view text, std::size_t columns) {
  constexpr std::string_view kMore = "...";
  return columns_of(text) <= columns
             ? std::string(text)
             : beginning_of(text, columns - std::min(columns, kMore.size())) +
                   std::string(kMore);
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_./,=+:@";
  if (!text.empty() &&
      text.find_first_not_of(kPlain) == std::string_view::npos) {
    return text;
  }
  if (!all_shown(text)) {
    return escaped_word(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

}  // namespace headwise::cli
