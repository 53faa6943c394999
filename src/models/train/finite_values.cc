#include "train/finite_values.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace headwise::inline HEADWISE_ABI {

Status check_finite_values(std::string_view what,
                           std::span<const float> values) {
  const auto found = std::ranges::find_if_not(
      values, [](float x) { return std::isfinite(x); });
  return found == values.end()
             ? ok()
             : argument_error(
                   "", what,
                   message("is the first value that is not finite: {}",
                           number_text(*found)),
                   "", ErrorCode::out_of_range);
}

}  // namespace headwise::inline HEADWISE_ABI
