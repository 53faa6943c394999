// Numbers that training may not go on with.
#pragma once

#include <span>
#include <string_view>

#include "headwise/base/result.h"

namespace headwise::cli {

// Errors: out_of_range, `WHAT was the first that was not finite: nan`.
Status check_finite_values(std::string_view what,
                           std::span<const float> values);

}  // namespace headwise::cli
