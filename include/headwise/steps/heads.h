// Step 5: the projected features, seen as heads (a view, no copy):
//
//   heads[b,l,h,d] = x[b,l,h * D + d]
//
//   x      (B, L, H * D)  in
//   heads  (B, L, H, D)   out; displayed as (B, H, L, D)
//
// Example:
//   auto heads = split_heads(query, 8).value();  // (B, L, 8, D)
#pragma once

#include <cstddef>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Errors: invalid_argument if num_heads is 0 or does not divide the features.
Result<TensorView<const float, 4>> split_heads(TensorView<const float, 3> x,
                                               std::size_t num_heads);
Result<TensorView<float, 4>> split_heads(TensorView<float, 3> x,
                                         std::size_t num_heads);
// A Tensor converts to both views.
inline Result<TensorView<const float, 4>> split_heads(const Tensor<float, 3>& x,
                                                      std::size_t num_heads) {
  return split_heads(x.view(), num_heads);
}
inline Result<TensorView<float, 4>> split_heads(Tensor<float, 3>& x,
                                                std::size_t num_heads) {
  return split_heads(x.view(), num_heads);
}
void split_heads(const Tensor<float, 3>&& x, std::size_t num_heads) = delete;

// The mean over the heads, added in order: (B, H, Lq, Lkv) -> (B, 1, Lq, Lkv).
// Errors: shape_mismatch; invalid_argument for a mean that overlaps
// attn_weights.
Status average_heads(TensorView<const float, 4> attn_weights,
                     TensorView<float, 4> mean);

// Step 11: the heads of each token concatenated again (a view, no copy):
//
//   merged[b,l,h * D + d] = context[b,l,h,d]
//
//   context  (B, L, H, D)   in
//   merged   (B, L, H * D)  out

// Errors: invalid_argument if the heads of a token are not contiguous (the
// stride of H is not D times the stride of D), because then no view can hold
// the result.
Result<TensorView<const float, 3>> merge_heads(
    TensorView<const float, 4> context);

// The same for an owned tensor, whose memory moves into the result.
Tensor<float, 3> merge_heads(Tensor<float, 4>&& context);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
