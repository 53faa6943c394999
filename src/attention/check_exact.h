// For calls that compute in float32 only.
#pragma once

#include <string>
#include <string_view>

#include "base/check.h"
#include "headwise/base/arithmetic.h"

namespace headwise::inline HEADWISE_ABI {

// `use` is what needs float32, unless the whole call does. Errors: unsupported.
inline Status check_exact(std::string_view operation, Arithmetic arithmetic,
                          std::string_view use = {}) {
  if (arithmetic == Arithmetic::exact) {
    return ok();
  }
  return value_error(operation, "arithmetic", name_of(arithmetic),
                     use.empty() ? "exact: this call computes in float32 only"
                                 : "exact with " + std::string(use),
                     ErrorCode::unsupported);
}

}  // namespace headwise::inline HEADWISE_ABI
