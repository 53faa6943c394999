// Plain, obviously correct attention: four loops, nothing clever, in binary64
// or binary32. Every kernel is tested against it.
//
//   s[j]    = scale * sum_d query[b,i,h,d] * key[b,j,g,d]   for allowed j, or
//             sum_d score_weight[h,d] * tanh(query[b,i,h,d] + key[b,j,g,d])
//   s[j]    = softcap * tanh(s[j] / softcap) + bias[b,h,i,j]
//             + t5_bias[bucket(j - i - query_start),h]
//             - alibi[h] * |i + query_start - j|            each if given
//   w[j]    = exp(s[j] - max s) / sum exp(s - max s)        0 where masked
//             sinks[h], if given, is one of s and has no w
//   output  = sum_j dropout(w[j]) * value[b,j,g,:]
//   lse     = max s + log sum exp(s - max s)
//
// AttentionOptions::arithmetic is ignored: nothing is rounded to bfloat16.
// Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.
#pragma once

#include "headwise/attention/backward.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Shapes and errors are those of attention() (attention/forward.h).
template <class T>
HEADWISE_EXPORT Status reference_attention(
    TensorView<const T, 4> query, TensorView<const T, 4> key,
    TensorView<const T, 4> value, const AttentionOutputsOf<T>& outputs,
    const AttentionOptions& options = {},
    const OperationOptions& operation_options = {});

// The gradients, from the formulas of attention/backward.h over whole rows of
// attention weights; inputs.output and inputs.softmax_rows are not read. Shapes
// and errors are those of attention_backward().
template <class T>
HEADWISE_EXPORT Status reference_attention_backward(
    const BackwardInputsOf<T>& inputs, const AttentionGradientsOf<T>& gradients,
    const AttentionOptions& options = {},
    const OperationOptions& operation_options = {});

extern template Status reference_attention_backward<float>(
    const BackwardInputsOf<float>&, const AttentionGradientsOf<float>&,
    const AttentionOptions&, const OperationOptions&);
extern template Status reference_attention_backward<double>(
    const BackwardInputsOf<double>&, const AttentionGradientsOf<double>&,
    const AttentionOptions&, const OperationOptions&);
extern template Status reference_attention<float>(
    TensorView<const float, 4>, TensorView<const float, 4>,
    TensorView<const float, 4>, const AttentionOutputsOf<float>&,
    const AttentionOptions&, const OperationOptions&);
extern template Status reference_attention<double>(
    TensorView<const double, 4>, TensorView<const double, 4>,
    TensorView<const double, 4>, const AttentionOutputsOf<double>&,
    const AttentionOptions&, const OperationOptions&);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
