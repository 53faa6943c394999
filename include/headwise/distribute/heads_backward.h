// The backward pass of heads_attention(): each rank gets the gradients of its
// own queries, keys and values, with the bits of attention_backward() on the
// whole tensors.
//
//   query, key, value, output, softmax_rows   in   as in the forward pass
//   d_output          (1, queries, Hq, Dv)    in
//   d_attn_weights    (B, heads of the rank,  in   of the heads that the rank
//                     Lq, Lkv)                     computes; no view: 0
//   gradients.query   (1, queries, Hq, D)     out  no view: not computed, here
//   gradients.key     (1, keys, Hkv, D)       out  and below
//   gradients.value   (1, keys, Hkv, Dv)      out
//   gradients.bias and those of other         out  whole, as in
//   options                                        attention/tensors.h
//
// Each rank receives all tokens of its heads, makes one call of
// attention_backward() and sends the gradients back. A rank may leave out
// gradients that others want. Those of the options are sums over all tokens of
// a head, so they are not split by rows: every rank that passes a view gets all
// of them. A bias that the heads share is an exception: its gradient passes
// through the ranks, which add to it one after another.
//
// During the call a rank holds its heads of the whole tensors.
//
// Errors, on every rank: those of heads_attention(); unsupported for
// gradients.state, and for d_attn_weights where heads and sequences share a
// bias.
//
// Example:
//   Status s = heads_attention_backward(
//       group, call, {q, k, v, out, rows, d_out},
//       {.query = d_q, .key = d_k, .value = d_v, .alibi = d_slopes});
#pragma once

#include "headwise/attention/tensors.h"
#include "headwise/base/half.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/heads_attention.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

#define HEADWISE_HEADS_BACKWARD(T)                                            \
  Status heads_attention_backward(Communicator& group, const HeadsCall& call, \
                                  const BackwardInputsOf<T>& own,             \
                                  const AttentionGradientsOf<T>& gradients);
HEADWISE_HEADS_BACKWARD(float)
HEADWISE_HEADS_BACKWARD(BFloat16)
HEADWISE_HEADS_BACKWARD(Float16)
#undef HEADWISE_HEADS_BACKWARD

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
