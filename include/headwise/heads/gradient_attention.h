// Gradient times attention: how much each pair of a query and a key contributes
// to a number F that a model computes from a text, to first order.
//
//   d_weights[h,i,j] = d_context[i,h] . value[j,h]     dF / dw[h,i,j]
//   product[h,i,j]   = w[h,i,j] d_weights[h,i,j]       signed, in units of F
//
//   w          attention weights
//   query      (B, Lq, Hq, D)                       in
//   key        (B, Lkv, Hkv, D)                     in
//   value      (B, Lkv, Hkv, Dv)                    in
//   d_context  (B, Lq, Hq, Dv)                      in   dF / dcontext, where
//                                                        context = w value
//   columns    (B, Hq, Lkv)                         out  sum_i product
//   totals     (B, Hq)                              out  sum_ij product
//   map        (B, Hq, map_size(Lq), map_size(Lkv)) out  mean over the pairs of
//                                                        a cell
//
// Weights count as independent variables. The gradient does not go through
// softmax, where a number that is the same for all keys of a query cancels.
// totals[h] is the derivative of F by the gate of head h (steps/head_gates.h)
// where that is 1.
//
// columns[h,j] is value[j,h] . d_value[j,h], where d_value is the gradient that
// the backward pass of attention computes, so memory grows with the number of
// tokens, not of pairs. The map is summed from 48 rows of weights at a time.
//
// Query heads that share keys and values have columns of their own. In a ragged
// batch d_context is (1, query rows, Hq, Dv) and columns (1, Hq, key rows);
// cells of the map beyond those of a shorter sequence are 0.
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
// attention_backward(); shape_mismatch for d_context; unsupported for added
// keys and for ragged keys of batched queries
// (Offsets::with_batched_queries()); out_of_memory.
Result<GradientAttention> gradient_attention(
    const AttentionInputsOf<float>& heads, TensorView<const float, 4> d_context,
    const AttentionOptions& options = {},
    const OperationOptions& operation_options = {});

// The map. Errors: the same.
Result<Tensor<float, 4>> gradient_attention_map(
    const AttentionInputsOf<float>& heads, TensorView<const float, 4> d_context,
    const AttentionOptions& options = {},
    const OperationOptions& operation_options = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
