// What layers in bf16 refuse.
#pragma once

#include <string>
#include <string_view>

#include "base/check.h"
#include "headwise/base/arithmetic.h"
#include "headwise/base/result.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// `what` is refused, if it is only a part of what the operation does. Errors:
// unsupported for bf16.
inline Status check_exact(std::string_view operation, Arithmetic arithmetic,
                          std::string_view what = {}) {
  if (arithmetic == Arithmetic::exact) {
    return ok();
  }
  return value_error(operation, "arithmetic", name_of(arithmetic),
                     what.empty() ? "exact" : "exact with " + std::string(what),
                     ErrorCode::unsupported);
}

}  // namespace headwise::inline HEADWISE_ABI
