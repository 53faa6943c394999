// Scaled dot-product attention, the operation, steps 6 to 10 in one call:
//
//   output = softmax(mask(scale * query key^T)) value     for each b and h
//
// With OperationOptions::score_weight the scores are additive
// (steps/scores.h) in place of scale * query key^T.
//
//   query   (B, Lq, Hq, D)     in      or (Lq, Hq, D) etc., without a batch
//   key     (B, Lkv, Hkv, D)   in      Hq is a multiple of Hkv, unless
//   value   (B, Lkv, Hkv, Dv)  in      OperationOptions::kv_groups says more
//   output  (B, Lq, Hq, Dv)    out
//
// These four are all float, all BFloat16 or all Float16. A 16-bit call gives
// the result of the float call on the same numbers, with each element of the
// output rounded once, to nearest even (docs/arithmetic.md). Everything else is
// float in every call.
//
// The tensors may have any strides. For data in the order (B, H, L, D) use
// view_bhld() (base/layout.h) or as_blhd(). A row's bits depend neither on the
// batch it is in nor on the number of threads.
//
// Optional outputs: an output with a view is written, the rest is not computed.
// Attention weights, scores and statistics must have a view exactly when the
// options ask for them; a view without the option, or the option without a
// view, is an error.
//
// The keys may come in parts, one call after another: attention/state.h.
//
// Every output has memory of its own: it shares no element with an input or
// another output. Interleaved views are fine, such as query, key and value of
// one tensor.
//
// Errors: shape_mismatch, invalid_argument, out_of_range, out_of_memory; then
// no output was written.
// Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.
//
// Example:
//   Status s = attention(q, k, v, out, {.mask = causal()});
#pragma once

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/half.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

Status attention(const CallTensors& tensors,
                 const AttentionOptions& options = {},
                 const OperationOptions& operation_options = {});
// With options that were checked already, for this call or an equal one.
Status attention(const CallTensors& tensors, const AttentionSpec& spec);

// The same of tensors of each type; the first also writes the other outputs,
// such as attention weights and log-sum-exp. OperationOptions::device says
// whether 16-bit tensors are in the CPU's memory or on a GPU
// (attention/device_attention.h).
#define HEADWISE_ATTENTION(T)                                                  \
  inline Status attention(                                                     \
      TensorView<const T, 4> query, TensorView<const T, 4> key,                \
      TensorView<const T, 4> value, const AttentionOutputsOf<T>& outputs,      \
      const AttentionOptions& options = {},                                    \
      const OperationOptions& operation_options = {}) {                        \
    return attention(                                                          \
        CallTensors(AttentionInputsOf<T>{query, key, value}, outputs),         \
        options, operation_options);                                           \
  }                                                                            \
  inline Status attention(                                                     \
      TensorView<const T, 4> query, TensorView<const T, 4> key,                \
      TensorView<const T, 4> value, TensorView<T, 4> output,                   \
      const AttentionOptions& options = {},                                    \
      const OperationOptions& operation_options = {}) {                        \
    return attention(query, key, value,                                        \
                     AttentionOutputsOf<T>{.output = output}, options,         \
                     operation_options);                                       \
  }                                                                            \
  inline Status attention(                                                     \
      TensorView<const T, 3> query, TensorView<const T, 3> key,                \
      TensorView<const T, 3> value, TensorView<T, 3> output,                   \
      const AttentionOptions& options = {},                                    \
      const OperationOptions& operation_options = {}) {                        \
    return attention(as_batch_of_one(query), as_batch_of_one(key),             \
                     as_batch_of_one(value), as_batch_of_one(output), options, \
                     operation_options);                                       \
  }
HEADWISE_ATTENTION(float)
HEADWISE_ATTENTION(BFloat16)
HEADWISE_ATTENTION(Float16)
#undef HEADWISE_ATTENTION

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
