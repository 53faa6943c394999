// Sets of characters as ascending ranges.
#pragma once

#include <algorithm>
#include <span>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

struct CodeRange {
  char32_t first;
  char32_t last;
};

// Whether one of the ranges, which ascend, holds `code`.
inline bool in_ranges(std::span<const CodeRange> ranges, char32_t code) {
  const auto found =
      std::ranges::lower_bound(ranges, code, {}, &CodeRange::last);
  return found != ranges.end() && found->first <= code;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
