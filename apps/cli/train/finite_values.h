// Numbers that training may not go on with.
#pragma once

#include <span>
#include <string_view>

#include "headwise/base/result.h"

namespace headwise::cli {

// Errors: out_of_range, `WHAT was the first that was not finite: nan`.
Status check_finite_values(std::string_view what,
                           std::span<const float> values);

// The same error, of this step of a training run; `model` says of which model
// where there are two.
Error in_step(const Error& error, std::size_t step,
              std::string_view model = "");

}  // namespace headwise::cli
