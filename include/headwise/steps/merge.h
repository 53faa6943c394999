// Step 11: the heads of each token side by side again; a view, nothing is
// copied:
//
//   merged[b,l,h * D + d] = context[b,l,h,d]
//
//   context  (B, L, H, D)   in
//   merged   (B, L, H * D)  out
#pragma once

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Errors: invalid_argument when the heads of a token do not lie side by side
// (stride of H other than D times the stride of D), since then no view is the
// answer.
Result<TensorView<const float, 3>> merge_heads(
    TensorView<const float, 4> context);

// The same of a tensor that is its own: its memory moves along.
Tensor<float, 3> merge_heads(Tensor<float, 4>&& context);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
