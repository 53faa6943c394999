// The gradients of a projection's parameters, for some of its output features.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headwise/base/arithmetic.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "steps/row_range.h"

// headwise::io calls these, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// The terms of the gradients, for tokens of one sequence: x (tokens,
// in_features) and the whole d_y (tokens, out_features), as a token counts if
// any of its d_y is not 0.
struct ProjectionTerms {
  TensorView<const float, 2> x;
  TensorView<const float, 2> d_y;
};

// Those of the sequences of a batch, x (B, L, in_features) and d_y (B, L,
// out_features), one after another; `offsets` as in Linear::backward_params().
std::vector<ProjectionTerms> projection_terms(
    TensorView<const float, 3> x, TensorView<const float, 3> d_y,
    TensorView<const std::int64_t, 1> offsets);

// (outputs.count, in_features), from whole sequences in order, in the
// arithmetic of the projection. Errors: out_of_memory.
Result<Tensor<float, 2>> projection_weight_gradient(
    std::span<const ProjectionTerms> sequences, std::size_t in_features,
    RowRange outputs, Arithmetic arithmetic, const Executor& executor);
// (outputs.count)
Result<Tensor<float, 1>> projection_bias_gradient(
    std::span<const ProjectionTerms> sequences, RowRange outputs);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
