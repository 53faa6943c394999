#include "finite_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace headwise::cli {

Status check_finite_values(std::string_view what,
                           std::span<const float> values) {
  const auto found = std::ranges::find_if_not(
      values, [](float x) { return std::isfinite(x); });
  return found == values.end()
             ? ok()
             : Error{ErrorCode::out_of_range,
                     fmt::format("{} was the first that was not finite: {}",
                                 what, *found)};
}

}  // namespace headwise::cli
