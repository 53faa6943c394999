#include "interop/layout_names.h"

#include <charconv>

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kDecimalDigits = "0123456789";

bool drop_front(std::string_view& text, std::string_view part) {
  const bool is_there = text.starts_with(part);
  text.remove_prefix(is_there ? part.size() : 0);
  return is_there;
}

bool drop_back(std::string_view& text, std::string_view part) {
  const bool is_there = text.ends_with(part);
  text.remove_suffix(is_there ? part.size() : 0);
  return is_there;
}

bool is_mark(char character) {
  return character == '.' || character == '/' || character == '_';
}

// What stands before the pattern in `name`; nothing where it is another name.
std::optional<std::string_view> before_pattern(std::string_view name,
                                               std::string_view pattern) {
  const std::size_t at = pattern.find(kLayerNumber);
  if (at != std::string_view::npos) {
    if (!drop_back(name, pattern.substr(at + kLayerNumber.size()))) {
      return {};
    }
    name = name.substr(0, name.find_last_not_of(kDecimalDigits) + 1);
    pattern = pattern.substr(0, at);
  }
  const bool fits =
      drop_back(name, pattern) &&
      (name.empty() || name.ends_with('.') || name.ends_with('/'));
  return fits ? std::optional(name) : std::nullopt;
}

// The prefix with {N} for its last number, if it has one.
std::string numbered(std::string_view prefix) {
  std::string form(prefix);
  for (std::size_t last = prefix.find_last_of(kDecimalDigits);
       last != std::string_view::npos;) {
    const std::size_t before = prefix.find_last_not_of(kDecimalDigits, last);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    if (is_mark(prefix[last + 1]) &&
        (begin == 0 || is_mark(prefix[begin - 1]))) {
      return form.replace(begin, last + 1 - begin, kLayerNumber);
    }
    last = begin == 0 ? std::string_view::npos
                      : prefix.find_last_of(kDecimalDigits, begin - 1);
  }
  return form;
}

}  // namespace

bool is_numbered(std::string_view pattern) {
  return pattern.find(kLayerNumber) != std::string_view::npos;
}

std::string name_in(std::string_view prefix, std::string_view pattern,
                    std::size_t number) {
  std::string text(prefix);
  text += pattern;
  const std::size_t at = text.find(kLayerNumber);
  return at == std::string::npos
             ? text
             : text.replace(at, kLayerNumber.size(), std::to_string(number));
}

std::optional<std::size_t> number_in(std::string_view name,
                                     std::string_view prefix,
                                     std::string_view pattern) {
  const bool in_prefix = is_numbered(prefix);
  const std::string_view text = in_prefix ? prefix : pattern;
  const std::size_t at = text.find(kLayerNumber);
  if (at == std::string_view::npos) {
    return drop_front(name, prefix) && name == pattern
               ? std::optional<std::size_t>(0)
               : std::nullopt;
  }
  const std::string_view after = text.substr(at + kLayerNumber.size());
  const bool fits =
      in_prefix ? drop_back(name, pattern) : drop_front(name, prefix);
  if (!fits || !drop_front(name, text.substr(0, at)) ||
      !drop_back(name, after)) {
    return std::nullopt;
  }
  const std::string_view digits = name;
  constexpr std::size_t kMostDigits = 4;
  std::size_t number = 0;
  const auto [end, failed] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole =
      failed == std::errc() && end == digits.data() + digits.size();
  // As it is written: 07 is another name.
  return whole && digits.size() <= kMostDigits &&
                 std::to_string(number) == digits
             ? std::optional(number)
             : std::nullopt;
}

std::set<std::string> prefixes_in(const ShapesByName& shapes,
                                  const Layout& layout) {
  constexpr std::size_t kMostPrefixes = 64;
  const std::string_view pattern = layout.rows[0].name;
  std::set<std::string> prefixes;
  for (const auto& [name, shape] : shapes) {
    const auto prefix = before_pattern(name, pattern);
    if (prefix && prefixes.size() < kMostPrefixes) {
      prefixes.insert(is_numbered(pattern) ? std::string(*prefix)
                                           : numbered(*prefix));
    }
  }
  return prefixes;
}

}  // namespace headwise::inline HEADWISE_ABI
