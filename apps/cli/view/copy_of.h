// A copy of what a layer shows only while it is seen.
#pragma once

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"

namespace headwise::cli {

// In C order. Errors: out_of_memory.
Result<Tensor<float, 4>> copy_of(TensorView<const float, 4> view);

}  // namespace headwise::cli
