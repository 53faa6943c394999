// Between steps 10 and 11, where it is asked for: the context of each head
// times a factor of its own, by which a head is turned down or off:
//
//   gated[b,l,h,d] = gates[h] * context[b,l,h,d]
//
//   context  (B, L, H, D)  in
//   gates    (H)           in   finite
//   gated    (B, L, H, D)  out  may be context itself
//
// A gate of 1 is the context bit for bit; one of 0 gives +0, whatever the
// context holds (NaN and infinity, too).
//
// Backward, d_gated being the gradient of a loss by gated:
//
//   d_context[b,l,h,d] = gates[h] * d_gated[b,l,h,d]
//   d_gates[s,h]       = sum_ld d_gated[b,l,h,d] * context[b,l,h,d]
//
// over the tokens of sequence s: what each sequence alone says of a head is
// what its importance is measured by. The gradient by a gate is the sum over
// the sequences. The sum over d runs as that over the features of a row, those
// over l in blocks of 128 tokens (docs/arithmetic.md); a token whose d_gated is
// all zero in a head is left out there, whatever its context holds.
//
// Source: Michel, Levy & Neubig 2019, arXiv:1905.10650, equations 2 and 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Errors: shape_mismatch; invalid_argument for a gate that is not finite. The
// message says `operation` for the one that was called.
Status check_head_gates(std::string_view operation,
                        TensorView<const float, 1> gates, std::size_t heads);

// Errors: shape_mismatch, those of check_head_gates().
Status gate_heads(TensorView<const float, 4> context,
                  TensorView<const float, 1> gates, TensorView<float, 4> gated,
                  const Executor& executor = Executor::default_executor());

// d_gates (sequences, H); `d_context` may be d_gated itself. `offsets`
// (sequences + 1), of a ragged batch: where the sequences of the one row of
// tokens begin. Errors: as above; those of Offsets::check; out_of_memory.
Result<Tensor<float, 2>> gate_heads_backward(
    TensorView<const float, 4> context, TensorView<const float, 1> gates,
    TensorView<const float, 4> d_gated, TensorView<float, 4> d_context,
    TensorView<const std::int64_t, 1> offsets = {},
    const Executor& executor = Executor::default_executor());

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
