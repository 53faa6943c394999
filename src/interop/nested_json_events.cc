#include "interop/nested_json_events.h"

#include <utility>

#include "interop/error_text.h"

namespace headwise::internal::inline HEADWISE_ABI {

bool NestedJsonEvents::open() {
  constexpr std::size_t kDeepest = 16;
  if (depth() == kDeepest) {
    return refuse(
        {"", "is nested more than " + std::to_string(kDeepest) + " deep"});
  }
  keys_.emplace_back();
  return true;
}

bool NestedJsonEvents::close() {
  keys_.pop_back();
  return true;
}

bool NestedJsonEvents::add_key(std::string key) {
  const auto [at, is_new] = keys_.back().insert(std::move(key));
  return is_new || twice(*at);
}

bool NestedJsonEvents::twice(std::string_view key) {
  return refuse({"", "has " + printable(key) + " twice"});
}

}  // namespace headwise::internal::inline HEADWISE_ABI
