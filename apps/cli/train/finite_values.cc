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
                     {.given = fmt::format(
                          "{} was the first that was not finite: {}", what,
                          *found)}};
}

Error in_step(const Error& error, std::size_t step, std::string_view model) {
  if (error.code() == ErrorCode::out_of_memory) {
    return error;
  }
  ErrorDetails details = error.details();
  details.operation =
      fmt::format("train: step {}{}{}{}", step, model,
                  details.operation.empty() ? "" : ": ", details.operation);
  return {error.code(), std::move(details)};
}

}  // namespace headwise::cli
