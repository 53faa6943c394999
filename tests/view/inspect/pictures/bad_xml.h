// Is a picture well-formed? A reader of the XML that pictures are written in.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

// What is wrong with the bytes as XML 1.0 characters; "" if nothing is.
inline std::string bad_characters(const std::string& text) {
  for (std::size_t n = 0; n < text.size();) {
    const auto lead = static_cast<unsigned char>(text[n]);
    const std::size_t bytes = lead < 0x80   ? 1
                              : lead < 0xC2 ? 0
                              : lead < 0xE0 ? 2
                              : lead < 0xF0 ? 3
                              : lead < 0xF5 ? 4
                                            : 0;
    char32_t code = bytes == 1 ? lead : lead & (0x7F >> bytes);
    if (bytes == 0 || n + bytes > text.size()) {
      return "no UTF-8 at byte " + std::to_string(n);
    }
    for (std::size_t k = 1; k < bytes; ++k) {
      const auto byte = static_cast<unsigned char>(text[n + k]);
      if (byte >> 6 != 2) {
        return "no UTF-8 at byte " + std::to_string(n + k);
      }
      code = code << 6 | (byte & 0x3F);
    }
    constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
    const bool allowed = code == '\n' || code == '\t' || code == '\r' ||
                         (code >= 0x20 && code < 0xD800) ||
                         (code >= 0xE000 && code < 0xFFFE) ||
                         (code >= 0x10000 && code < 0x110000);
    if (code < kSmallest[bytes] || !allowed) {
      return "forbidden character at byte " + std::to_string(n);
    }
    n += bytes;
  }
  return "";
}

// Reads a tag after its '<': its name, and whether it is <a>, </a> or <a/>.
// Attributes must be name="value" without markup in the value.
struct Tag {
  std::string name;
  char kind = '?';  // '<' opens, '/' ends, '-' does both, '?' is no tag
};
inline Tag read_tag(std::string_view& rest) {
  Tag tag;
  const bool end = rest.starts_with('/');
  rest.remove_prefix(end ? 1 : 0);
  const auto name = [&] {
    const std::size_t length = std::min(
        rest.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                               "UVWXYZ0123456789-:"),
        rest.size());
    std::string text(rest.substr(0, length));
    rest.remove_prefix(length);
    return text;
  };
  tag.name = name();
  while (rest.starts_with(' ')) {
    rest.remove_prefix(1);
    if (rest.starts_with('>') || rest.starts_with('/')) {
      break;
    }
    const std::string attribute = name();
    if (attribute.empty() || !rest.starts_with("=\"")) {
      return {};
    }
    rest.remove_prefix(2);
    const std::size_t stop = rest.find_first_of("\"<>");
    if (stop == std::string_view::npos || rest[stop] != '"') {
      return {};
    }
    rest.remove_prefix(stop + 1);
  }
  const bool both = !end && rest.starts_with("/>");
  rest.remove_prefix(both ? 1 : 0);
  if (!rest.starts_with('>') || tag.name.empty()) {
    return {};
  }
  rest.remove_prefix(1);
  tag.kind = both ? '-' : end ? '/' : '<';
  return tag;
}

// What is wrong with `text` as XML without comments and the like.
inline std::string bad_xml(std::string_view text) {
  if (std::string bad = bad_characters(std::string(text)); !bad.empty()) {
    return bad;
  }
  for (std::size_t at = text.find('&'); at != std::string_view::npos;
       at = text.find('&', at + 1)) {
    const std::string_view rest = text.substr(at);
    if (!rest.starts_with("&amp;") && !rest.starts_with("&lt;") &&
        !rest.starts_with("&gt;") && !rest.starts_with("&quot;")) {
      return "a & that is no entity";
    }
  }
  std::vector<std::string> open;
  while (!text.empty()) {
    const std::size_t markup = std::min(text.find_first_of("<>"), text.size());
    text.remove_prefix(markup);
    if (text.empty()) {
      break;
    }
    const std::string here(text.substr(0, 40));
    if (text.front() == '>') {
      return "a lone >: " + here;
    }
    text.remove_prefix(1);
    const Tag tag = read_tag(text);
    if (tag.kind == '?') {
      return "no tag: " + here;
    }
    if (tag.kind == '<') {
      open.push_back(tag.name);
    } else if (tag.kind == '/') {
      if (open.empty() || open.back() != tag.name) {
        return "wrong end: " + here;
      }
      open.pop_back();
    }
  }
  return open.empty() ? "" : "not closed: " + open.back();
}

}  // namespace headwise
