#include "interop/layout_names.h"

#include <charconv>

namespace headwise::inline HEADWISE_ABI {
namespace {

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

}  // namespace headwise::inline HEADWISE_ABI
