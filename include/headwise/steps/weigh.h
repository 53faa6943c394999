// Step 10: the sum of the values, weighted by the attention weights:
//
//   context[b,i,h,d] = sum_j attn_weights[b,h,i,j] * value[b,j,g,d],
//   g = h / (Hq / Hkv), or as kv_groups says (steps/head_groups.h)
//
//   attn_weights  (B, Hq, Lq, Lkv)    in; after dropout, in training
//   value         (B, Lkv, Hkv, Dv)   in
//   context       (B, Lq, Hq, Dv)     out
//
// A masked value is not read: whatever it holds, NaN and infinity included, it
// adds nothing.
#pragma once

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/steps/head_groups.h"
#include "headwise/steps/mask.h"
#include "headwise/steps/softmax.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// `lse` (B, Hq, Lq) is -inf in fully masked rows; `empty_rows` sets their
// result. Errors: shape_mismatch for other shapes, or a mask that was bound to
// other sizes; those of HeadGroups::check; invalid_argument if the number of
// query heads is not a multiple of the number of value heads, and for a context
// that overlaps an input; out_of_memory.
Status weigh(TensorView<const float, 4> attn_weights, const GroupedHeads& value,
             const BoundMask& mask, TensorView<const float, 3> lse,
             EmptyRow empty_rows, TensorView<float, 4> context,
             const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
