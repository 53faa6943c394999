#include <charconv>
#include <utility>

#include "headwise/transformer/model_pass.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::pair<std::string_view, AttentionKind> kPrefixes[] = {
    {"cross.", AttentionKind::cross}, {"encoder.", AttentionKind::encoder}};

// Nothing but digits.
std::optional<std::size_t> whole_number(std::string_view text) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return !text.empty() && text[0] != '-' && error == std::errc() && stop == end
             ? std::optional(number)
             : std::nullopt;
}

}  // namespace

std::string name_of(const AttentionPlace& place) {
  std::string name;
  for (const auto& [prefix, kind] : kPrefixes) {
    name += place.kind == kind ? prefix : "";
  }
  name += std::to_string(place.layer);
  return place.head ? name + "." + std::to_string(*place.head) : name;
}

std::optional<AttentionPlace> head_named(std::string_view name) {
  AttentionPlace place;
  for (const auto& [prefix, kind] : kPrefixes) {
    if (name.starts_with(prefix)) {
      place.kind = kind;
      name.remove_prefix(prefix.size());
      break;
    }
  }
  const std::size_t dot = name.find('.');
  if (dot == name.npos) {
    return std::nullopt;
  }
  const auto layer = whole_number(name.substr(0, dot));
  place.head = whole_number(name.substr(dot + 1));
  if (!layer || !place.head) {
    return std::nullopt;
  }
  place.layer = *layer;
  return place;
}

}  // namespace headwise::inline HEADWISE_ABI
