// What a model gives where its numbers overflow.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "base/check.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// `argument`: what gives the outputs.
inline Status check_finite_outputs(std::string_view operation,
                                   std::string_view argument,
                                   std::span<const float> outputs,
                                   ErrorCode code) {
  return std::ranges::all_of(outputs, [](float x) { return std::isfinite(x); })
             ? ok()
             : Status(argument_error(operation, argument,
                                     "gives outputs that are NaN or infinite",
                                     "finite outputs", code));
}

}  // namespace headwise::inline HEADWISE_ABI
