// Whether a cache can hold numbers of a wider type.
#pragma once

#include <string_view>

#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_arg.h"

// headwise::io calls it, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Errors: out_of_range for a finite number that a cache of `stored` would hold
// as an infinity: attention would then be NaN. No tensor: ok.
Status check_stored_range(std::string_view operation, std::string_view argument,
                          const TensorArg& tensor, DType stored);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
