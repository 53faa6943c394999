#include "interop/find_prefixes.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

#include "interop/layout_names.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kMostPrefixes = 64;

bool is_digit(char character) {
  return std::isdigit(static_cast<unsigned char>(character)) != 0;
}
bool is_mark(char character) {
  return character == '.' || character == '/' || character == '_';
}

// What stands before the pattern in `name`; nothing where it is another name.
std::optional<std::string_view> before_pattern(std::string_view name,
                                               std::string_view pattern) {
  const std::size_t at = std::min(pattern.find(kLayerNumber), pattern.size());
  const bool numbered = at != pattern.size();
  const std::string_view after =
      numbered ? pattern.substr(at + kLayerNumber.size()) : pattern;
  if (!name.ends_with(after)) {
    return {};
  }
  name.remove_suffix(after.size());
  if (numbered) {
    while (!name.empty() && is_digit(name.back())) {
      name.remove_suffix(1);
    }
    if (!name.ends_with(pattern.substr(0, at))) {
      return {};
    }
    name.remove_suffix(at);
  }
  const bool whole = name.ends_with('.') || name.ends_with('/');
  return whole || name.empty() ? std::optional(name) : std::nullopt;
}

// The prefix with {N} for its last number, if it has one.
std::string numbered(std::string_view prefix) {
  constexpr std::string_view kDigits = "0123456789";
  std::string form(prefix);
  for (std::size_t last = prefix.find_last_of(kDigits);
       last != std::string_view::npos;) {
    const std::size_t before = prefix.find_last_not_of(kDigits, last);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    if (is_mark(prefix[last + 1]) &&
        (begin == 0 || is_mark(prefix[begin - 1]))) {
      return form.replace(begin, last + 1 - begin, kLayerNumber);
    }
    last = begin == 0 ? std::string_view::npos
                      : prefix.find_last_of(kDigits, begin - 1);
  }
  return form;
}

}  // namespace

std::set<std::string> prefixes_in(const ShapesByName& shapes,
                                  const Layout& layout) {
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
