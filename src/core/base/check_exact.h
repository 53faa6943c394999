// For calls that compute in float32 only, and layers.
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
                                 : message("exact with {}", Message(use)),
                     ErrorCode::unsupported);
}

// A layer in bf16 computes every call in it; an exact one refuses it. Errors:
// invalid_argument.
inline Status check_arithmetic_of_layer(std::string_view operation,
                                        Arithmetic layer, Arithmetic asked) {
  if (layer != Arithmetic::exact || asked == Arithmetic::exact) {
    return ok();
  }
  return value_error(operation, "arithmetic", name_of(asked),
                     "exact, which is the layer's");
}

}  // namespace headwise::inline HEADWISE_ABI
