// Step 8: masked scores to attention weights, by a softmax over the keys:
//
//   attn_weights[b,h,i,:] = exp(masked_scores[b,h,i,:] - lse[b,h,i])
//   lse[b,h,i]            = log(sum_j exp(masked_scores[b,h,i,j]))
//
//   masked_scores  (B, Hq, Lq, Lkv)  in, -inf = may not attend
//   sinks          (Hq)              in, optional (steps/sinks.h)
//   attn_weights   (B, Hq, Lq, Lkv)  out, each row sums to 1
//   lse            (B, Hq, Lq)       out, natural logarithm
//
// With sinks, exp(sinks[h]) is one more term of the sum: rows sum to less than
// 1, and a fully masked row has the weights 0 and the lse sinks[h].
//
// A row whose keys are all masked has lse -inf and the weights that EmptyRow
// says. A NaN or +inf that is not masked makes its own row NaN and no other.
// Source: softmax after subtracting the row's maximum, as in Milakov &
// Gimelshein 2018, arXiv:1805.02867.
#pragma once

#include <limits>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/steps/sinks.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The result of a fully masked row.
enum class EmptyRow {
  zero,     // attention weights 0, output 0
  uniform,  // 1/Lkv for all keys, masked ones too: the result of filling with
            // a finite number such as -1e12
  nan,      // NaN
};

// The one NaN that headwise returns (0x7fc00000 in binary32).
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

// Errors: shape_mismatch; invalid_argument for an output that overlaps another
// tensor; out_of_memory.
Status softmax(TensorView<const float, 4> masked_scores, EmptyRow empty_rows,
               TensorView<float, 4> attn_weights, TensorView<float, 3> lse,
               const Executor& executor);
// With the sinks of the heads. Errors: also shape_mismatch for sinks that were
// bound to another number of heads.
Status softmax(TensorView<const float, 4> masked_scores,
               const BoundSinks& sinks, EmptyRow empty_rows,
               TensorView<float, 4> attn_weights, TensorView<float, 3> lse,
               const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
