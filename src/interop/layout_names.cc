#include "interop/layout_names.h"

#include <charconv>

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kNumber = "{N}";

}  // namespace

bool is_numbered(std::string_view pattern) {
  return pattern.find(kNumber) != std::string_view::npos;
}

std::string name_in(std::string_view prefix, std::string_view pattern,
                    std::size_t number) {
  std::string text(prefix);
  const std::size_t at = pattern.find(kNumber);
  text += pattern.substr(0, at);
  if (at != std::string_view::npos) {
    text += std::to_string(number);
    text += pattern.substr(at + kNumber.size());
  }
  return text;
}

std::optional<std::size_t> number_in(std::string_view name,
                                     std::string_view prefix,
                                     std::string_view pattern) {
  if (!name.starts_with(prefix)) {
    return std::nullopt;
  }
  name.remove_prefix(prefix.size());
  const std::size_t at = pattern.find(kNumber);
  if (at == std::string_view::npos) {
    return name == pattern ? std::optional<std::size_t>(0) : std::nullopt;
  }
  const std::string_view after = pattern.substr(at + kNumber.size());
  if (!name.starts_with(pattern.substr(0, at)) || !name.ends_with(after) ||
      name.size() < at + after.size()) {
    return std::nullopt;
  }
  const std::string_view digits =
      name.substr(at, name.size() - at - after.size());
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
