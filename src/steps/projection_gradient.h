// The gradients of a projection's parameters, for some of its output features.
#pragma once

#include <cstdint>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "steps/row_range.h"

// headwise::io calls these, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// (outputs.count, in_features), from x (B, L, in_features) and the whole d_y
// (B, L, out_features): a token counts if any of its d_y is not 0. Tensors and
// offsets were checked. Errors: out_of_memory.
Result<Tensor<float, 2>> projection_weight_gradient(
    TensorView<const float, 3> x, TensorView<const float, 3> d_y,
    RowRange outputs, TensorView<const std::int64_t, 1> offsets,
    const Executor& executor);
// (outputs.count)
Result<Tensor<float, 1>> projection_bias_gradient(
    TensorView<const float, 3> d_y, RowRange outputs,
    TensorView<const std::int64_t, 1> offsets);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop

namespace headwise::inline HEADWISE_ABI {

using internal::projection_bias_gradient;
using internal::projection_weight_gradient;

}  // namespace headwise::inline HEADWISE_ABI
