#include <array>

#include "headwise/heads/find_heads.h"

namespace headwise::inline HEADWISE_ABI {

std::string_view name_of(HeadPattern pattern) {
  constexpr std::array<std::string_view, kHeadPatterns> kNames = {
      "previous",  "next",      "self",       "first",
      "separator", "duplicate", "positional", "induction"};
  return kNames[static_cast<std::size_t>(pattern)];
}

}  // namespace headwise::inline HEADWISE_ABI
