// The gates that a call is given.
#pragma once

#include <cstddef>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Errors: shape_mismatch; invalid_argument for a gate that is not finite.
// Messages begin with `operation`.
Status check_head_gates(std::string_view operation,
                        TensorView<const float, 1> gates, std::size_t heads);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
