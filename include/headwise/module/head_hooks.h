// Functions that see the heads inside a call of the layer before attention, or
// see or change them after it, before the gates and the output projection.
//
//   query      (B, Lq, num_heads, head_dim)     as they are compared:
//   key        (B, Lkv, num_kv_heads, head_dim)   normalised and rotated
//   value      (B, Lkv, num_kv_heads, v_head_dim)  what the heads attend to
//   context    (B, Lq, num_heads, v_head_dim)      what they make of it
//   d_context  as context: the gradient of a loss
//
// In a ragged batch B is 1, and the rows are those of all sequences. Over a
// cache `value` holds the new tokens alone, and in a LayerShard all of them
// have the rank's own heads. A layer without heads calls none of the functions.
//
// Without hooks a call computes the same bits at the same cost. An error of a
// hook ends the call and is returned. Views are valid only during the hook.
//
// Example: what token 5 of the first sequence gets from head 3.
//   std::vector<float> got;
//   HeadHooks hooks{.see = [&](TensorView<const float, 4> context) {
//     for (std::size_t d = 0; d < context.extent(3); ++d) {
//       got.push_back(context(0, 5, 3, d));
//     }
//     return ok();
//   }};
//   auto result = mha.forward(x, x, x, {}, {.hooks = &hooks}).value();
#pragma once

#include <compare>
#include <cstddef>
#include <functional>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/reports.h"
#include "headwise/steps/head_groups.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct HookedHeads {
  TensorView<const float, 4> query;
  TensorView<const float, 4> key;
  TensorView<const float, 4> value;
  const AttentionOptions& options;  // of the call
  HeadGroups kv_groups{};           // which query heads read which key head
};

struct HeadContext {
  TensorView<const float, 4> value;
  TensorView<float, 4> context;
  HeadGroups kv_groups{};  // which query heads read which value head
};

struct HeadHooks {
  // Before attention, with every row, whether or not a query may attend to it.
  std::function<Status(const HookedHeads& heads)> see_inputs{};
  // May write to the context. Not in a forward pass of training: the backward
  // pass differentiates what attention computed.
  std::function<Status(const HeadContext& heads)> edit{};
  // After `edit`.
  std::function<Status(TensorView<const float, 4> context)> see{};
  // In the backward pass.
  std::function<Status(TensorView<const float, 4> d_context)> see_gradient{};
  // Receives each step, as the trace of MultiHeadAttention::forward(), in its
  // place and with its errors; null: none. Of a single sequence, in an exact
  // layer, without a cache, and not in a forward pass of training.
  TraceSink* trace = nullptr;
};

// One head of a model with several layers.

// Both count from 0. `head` is the number before any head was pruned.
struct HeadId {
  std::size_t layer = 0;
  std::size_t head = 0;

  auto operator<=>(const HeadId&) const = default;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
