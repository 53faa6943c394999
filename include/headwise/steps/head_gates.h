// Optional, between steps 10 and 11: the context of each head times its own
// factor, which scales the head or turns it off:
//
//   gated[b,l,h,d] = gates[h] * context[b,l,h,d]
//
//   context  (B, L, H, D)  in
//   gates    (H)           in   finite
//   gated    (B, L, H, D)  out  may be context itself
//
// A gate of 1 gives the context bit for bit; a gate of 0 gives +0, whatever the
// context holds, NaN and infinity included.
//
// Backward, with d_gated the gradient of a loss with respect to gated:
//
//   d_context[b,l,h,d] = gates[h] * d_gated[b,l,h,d]
//   d_gates[s,h]       = sum_ld d_gated[b,l,h,d] * context[b,l,h,d]
//
// where sum_ld runs over the tokens l of sequence s, because importance is
// measured per sequence. The gradient with respect to a gate is the sum over
// the sequences. The sum over d has the order of a sum over the features of a
// row, the sum over l runs in blocks of 128 tokens (docs/arithmetic.md); a
// token whose d_gated is all zero in a head is left out of it, whatever its
// context holds.
//
// Source: Michel, Levy & Neubig 2019, arXiv:1905.10650, equations 2 and 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The gates of a model's heads: one tensor for each layer.
using HeadGateSpan = std::span<const Tensor<float, 1>>;

// Errors: shape_mismatch; invalid_argument for a gate that is not finite.
Status gate_heads(TensorView<const float, 4> context,
                  TensorView<const float, 1> gates, TensorView<float, 4> gated,
                  const Executor& executor = Executor::default_executor());

// Returns d_gates (sequences, H); `d_context` may be d_gated itself. `offsets`
// (sequences + 1), for a ragged batch: where the sequences begin in the one row
// of tokens. Errors: as above; those of Offsets::check; out_of_memory.
Result<Tensor<float, 2>> gate_heads_backward(
    TensorView<const float, 4> context, TensorView<const float, 1> gates,
    TensorView<const float, 4> d_gated, TensorView<float, 4> d_context,
    TensorView<const std::int64_t, 1> offsets = {},
    const Executor& executor = Executor::default_executor());

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
