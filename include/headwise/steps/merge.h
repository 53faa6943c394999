// Step 11: the heads of each token concatenated again (a view, no copy):
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

// Errors: invalid_argument if the heads of a token are not contiguous (the
// stride of H is not D times the stride of D), because then no view can hold
// the result.
Result<TensorView<const float, 3>> merge_heads(
    TensorView<const float, 4> context);

// The same for an owned tensor, whose memory moves into the result.
Tensor<float, 3> merge_heads(Tensor<float, 4>&& context);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
