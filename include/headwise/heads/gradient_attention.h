// Gradient times attention: how much each pair of a query and a key moves a
// number F that a model gives for a text, to first order.
//
//   d_weights[h,i,j] = d_context[i,h] . value[j,h]     dF / dw[h,i,j]
//   product[h,i,j]   = w[h,i,j] d_weights[h,i,j]       signed
//
//   w          attention weights
//   value      (B, Lkv, Hkv, Dv)                  in
//   d_context  (B, Lq, H, Dv)                     in   dF by what a head makes
//                                                      of its values
//   columns    (B, H, Lkv)                        out  sum_i product
//   totals     (B, H)                             out  sum_ij product
//   map        (B, H, map_size(Lq), map_size(Lkv)) out mean over a cell's pairs
//
// The gradient by a weight is taken as if weights were free, so not through the
// softmax; keys that every query sees alike then still count. totals[h] is dF
// by the gate of head h (steps/head_gates.h) while that is 1.
//
// columns[h,j] is value[j,h] . d_value[j,h], so the backward pass of attention
// gives it: memory grows with the number of tokens, not of pairs. So it does
// for the map, of which 48 rows are computed at a time.
//
// H counts the query heads; those that share keys and values have columns of
// their own. In a ragged batch d_context is (1, query rows, H, Dv) and columns
// (1, H, key rows); cells of the map beyond those of a shorter sequence are 0.
//
// Bits depend neither on the batch nor on the threads.
//
// Source: Barkan et al. 2021, "Grad-SAM", CIKM; as in Hao et al. 2021,
// arXiv:2004.11207, section 3, with a single step.
//
// Example:
//   auto done = gradient_attention({query, key, value}, d_context).value();
//   done.totals(0, head);
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct GradientAttention {
  Tensor<float, 3> columns;
  Tensor<double, 2> totals;
};

// The options are those of the layer's call. Errors: those of attention() and
// attention_backward(); unsupported for added keys.
Result<GradientAttention> gradient_attention(
    const AttentionInputsOf<float>& heads, TensorView<const float, 4> d_context,
    const AttentionOptions& options = {},
    const OperationOptions& operation_options = {});

// The signed map.
Result<Tensor<float, 4>> gradient_attention_map(
    const AttentionInputsOf<float>& heads, TensorView<const float, 4> d_context,
    const AttentionOptions& options = {},
    const OperationOptions& operation_options = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
