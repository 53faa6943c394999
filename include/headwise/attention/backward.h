// The backward pass of attention: from the gradient of a loss with respect to
// the output to its gradients with respect to everything that the output was
// computed from.
//
//   P        = the attention weights, computed again from the saved rows
//   d_value  = P^T d_output                    P as dropped in the forward pass
//   dP       = d_output value^T (+ d_attn_weights)
//   dS       = P * (dP - Delta),  Delta = sum over Dv of d_output * output
//   d_query  = scale * dS key,    d_key = scale * dS^T query
//   d_bias   = dS, summed over what the bias is broadcast over
//   d_t5_bias = sum of dS over the pairs of each bucket
//   d_alibi  = - sum of dS * distance
//   d_sinks  = - sum of P_sink * Delta,  P_sink the share of the head's sink
//   d_bias_k and d_bias_v: as d_key and d_value, summed over the sequences
//
// With OperationOptions::score_weight w and t = tanh(query + key), instead of
// d_query and d_key:
//
//   d_query[i,d] = sum_j dS[i,j] * w[h,d] * (1 - t[i,j,d]^2)
//   d_key[j,d]   = sum_i dS[i,j] * w[h,d] * (1 - t[i,j,d]^2)
//   d_score_weight[h,d] = sum_ij dS[i,j] * t[i,j,d]
//
// Memory grows with the number of rows, never with the number of pairs. A query
// or key that is masked gets exactly 0, whatever it holds, and so does a query
// without any key (except that EmptyRow::uniform gives the values a gradient).
// A row that the loss does not depend on is left out: one whose d_output is all
// zero, and whose returned weights have no gradient other than 0. So what a
// padded query holds, NaN included, changes no gradient (on a GPU,
// attention/device_attention.h, it may). The bits do not depend on threads,
// batch or padding (docs/arithmetic.md).
//
// The keys or the queries may come in parts, one call after another:
// attention/gradient_state.h.
//
// Source: Dao 2023, "FlashAttention-2", arXiv:2307.08691, algorithm 2.
//
// Example:
//   attention(q, k, v, {.output = out, .softmax_rows = rows}, options);
//   attention_backward({.query = q, .key = k, .value = v, .output = out,
//                       .softmax_rows = rows, .d_output = d_out},
//                      {.query = d_q, .key = d_k, .value = d_v}, options);
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/half.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/named_axes.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// A view of a tensor with named axes (steps/named_axes.h) with the axes B, H,
// Lq, Lkv; an axis that is not named has extent 1.
template <class T>
TensorView<T, 4> by_scores(T* data, std::span<const std::size_t> extents,
                           std::span<const std::ptrdiff_t> strides,
                           std::span<const Axis> axes) {
  Extents<4> of_scores = {1, 1, 1, 1};
  Strides<4> by{};
  for (std::size_t n = 0; n < axes.size(); ++n) {
    if (axes[n] != Axis::one) {
      const auto axis = static_cast<std::size_t>(axes[n]);
      of_scores[axis] = extents[n];
      by[axis] = strides[n];
    }
  }
  return {data, of_scores, by};
}
template <class T, std::size_t Rank>
TensorView<T, 4> by_scores(TensorView<T, Rank> view,
                           const std::array<Axis, Rank>& axes) {
  return by_scores(view.data(), view.extents(), view.strides(), axes);
}

// The options are those of the forward pass. A gradient that is not wanted
// costs nothing. Errors: those of attention();
// invalid_argument for statistics;
// shape_mismatch for an input or a gradient that does not fit;
// invalid_argument for a gradient that shares memory with an input or with
// another gradient. After an error nothing was written.
// The gradients of query, key and value are rounded once to their type; Delta
// is computed from the output as it was returned.
Status attention_backward(const CallTensors& tensors,
                          const AttentionOptions& options = {},
                          const OperationOptions& operation_options = {});
// With options that were checked already, such as those of the forward pass.
Status attention_backward(const CallTensors& tensors,
                          const AttentionSpec& spec);

// The same of tensors of each type, on the CPU or on a GPU
// (attention/forward.h).
#define HEADWISE_BACKWARD(T)                                           \
  inline Status attention_backward(                                    \
      const BackwardInputsOf<T>& inputs,                               \
      const AttentionGradientsOf<T>& gradients,                        \
      const AttentionOptions& options = {},                            \
      const OperationOptions& operation_options = {}) {                \
    return attention_backward(CallTensors(inputs, gradients), options, \
                              operation_options);                      \
  }
HEADWISE_BACKWARD(float)
HEADWISE_BACKWARD(BFloat16)
HEADWISE_BACKWARD(Float16)
#undef HEADWISE_BACKWARD

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
