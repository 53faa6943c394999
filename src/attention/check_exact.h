// For calls that compute in float32 only.
#pragma once

#include <string_view>

#include "base/check.h"
#include "headwise/base/arithmetic.h"

namespace headwise::inline HEADWISE_ABI {

// Errors: unsupported.
inline Status check_exact(std::string_view operation, Arithmetic arithmetic) {
  return arithmetic == Arithmetic::exact
             ? ok()
             : Status(value_error(operation, "arithmetic", name_of(arithmetic),
                                  "exact: this call computes in float32 only",
                                  ErrorCode::unsupported));
}

}  // namespace headwise::inline HEADWISE_ABI
