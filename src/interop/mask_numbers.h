// Whether numbers are a mask: all of them 0 or 1. Read as "nonzero", an
// additive mask of 0 and -10000 would let queries attend to what it masks.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/check.h"

namespace headwise::inline HEADWISE_ABI {

// The lowest and the highest number: what they look like, and what to do.
inline std::string looks_of_numbers(double lowest, double highest, bool two) {
  return lowest < 0 ? "negative numbers look like a mask that is added to the "
                      "scores: give it as a float bias, or write mask == 0"
         : two      ? "0 and " + number_text(highest) +
                     " look like false and true: write mask != 0"
               : "they look like ids or counts: compare them first, such as "
                 "ids != padding_id";
}

// `numbers` is a range. Errors: out_of_range, which says what they look like.
template <class Numbers>
Status check_mask_numbers(std::string_view operation, std::string_view name,
                          const Numbers& numbers) {
  double lowest = 0;
  double highest = 0;
  double other = 0;
  bool two = true;  // 0 and one other number
  for (const auto number : numbers) {
    const auto value = static_cast<double>(number);
    if (value != 0 && value != 1 && other == 0) {
      other = value;
    }
    two = two && (value == 0 || highest == 0 || value == highest);
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
  }
  if (other == 0) {
    return ok();
  }
  Error error = argument_error(operation, name, "holds " + number_text(other),
                               "a mask: bool, or numbers that are 0 or 1",
                               ErrorCode::out_of_range);
  ErrorDetails details = error.details();
  details.hint = looks_of_numbers(lowest, highest, two);
  return Error{error.code(), std::move(details)};
}

}  // namespace headwise::inline HEADWISE_ABI
