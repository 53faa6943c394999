// Values with which training cannot continue.
#pragma once

#include <span>
#include <string_view>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// Errors: out_of_range, `WHAT is the first value that is not finite: nan`.
Status check_finite_values(std::string_view what,
                           std::span<const float> values);

}  // namespace headwise::inline HEADWISE_ABI
