// Whether numbers are a mask: all of them 0 or 1. Read as "nonzero", an
// additive mask of 0 and -10000 would let queries attend to what it masks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/check.h"

namespace headwise::inline HEADWISE_ABI {

// `at(i)` is number i. Errors: out_of_range, which says what they look like.
template <class At>
Status check_mask_numbers(std::string_view operation, std::string_view name,
                          std::size_t count, const At& at) {
  double lowest = 0;
  double other = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(at(i));
    if (value != 0 && value != 1) {
      other = other == 0 ? value : other;
      lowest = std::min(lowest, value);
    }
  }
  if (other == 0) {
    return ok();
  }
  return Error{
      ErrorCode::out_of_range,
      {.operation = std::string(operation),
       .argument = std::string(name),
       .given = message("holds {}", number_text(other)),
       .expected = "a mask: bool, or numbers that are 0 or 1",
       .hint = lowest < 0 ? "negative numbers look like a mask that is added "
                            "to the scores: give it as a float bias, or write "
                            "mask == 0"
                          : "numbers above 1 look like ids, lengths or 255 for "
                            "true: write mask != 0, or compare them"}};
}

}  // namespace headwise::inline HEADWISE_ABI
