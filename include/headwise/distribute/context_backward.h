// The backward pass of context_attention(): each rank gets the gradients of its
// own queries, keys and values, with the bits of attention_backward() on the
// whole tensors.
//
//   query, key, value, output, softmax_rows      in   as in the forward pass
//   d_output          (1, queries, Hq, Dv)       in
//   gradients.query   (1, queries, Hq, D)        out
//   gradients.key     (1, keys, Hkv, D)          out
//   gradients.value   (1, keys, Hkv, Dv)         out
//   gradients.bias and those of other options    out  whole, as in
//                                                     attention/tensors.h
//
// It makes two passes (attention/gradient_state.h), seven products for the five
// of one process. In the first, keys and values come to the queries as in the
// forward pass, for the gradient of the queries. In the second, queries, with
// their outputs and gradients, come to the owners of the keys that they see:
// the first head of each group, query by query, then the next head. A chunk has
// at most call.chunk_keys keys, or the queries that fit into the same memory.
// call.keys makes no difference.
//
// The gradients of options are sums over all tokens. Every rank that passes a
// view gets all of them. For those of ALiBi's slopes and of sinks, what each
// row adds is collected. Those of biases, T5's table, score_weight and added
// keys are sums over pairs of tokens: where some rank wants one, they are
// computed as in distribute/heads_backward.h, so a rank then also holds all
// tokens of some heads.
//
// A rank needs memory for its own tensors, for the sums of its gradients in
// float, and for two chunks.
//
// Errors, on every rank: those of context_attention(); unsupported for
// d_attn_weights, gradients.state and EmptyRow::uniform; invalid_argument for a
// plan that cuts a sequence of queries elsewhere than at multiples of 48.
//
// Example:
//   Status s = context_attention_backward(
//       group, call, {q, k, v, out, rows, d_out},
//       {.query = d_q, .key = d_k, .value = d_v});
#pragma once

#include "headwise/attention/tensors.h"
#include "headwise/base/half.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/context_attention.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

#define HEADWISE_CONTEXT_BACKWARD(T)                                \
  Status context_attention_backward(Communicator& group,            \
                                    const ContextCall& call,        \
                                    const BackwardInputsOf<T>& own, \
                                    const AttentionGradientsOf<T>& gradients);
HEADWISE_CONTEXT_BACKWARD(float)
HEADWISE_CONTEXT_BACKWARD(BFloat16)
HEADWISE_CONTEXT_BACKWARD(Float16)
#undef HEADWISE_CONTEXT_BACKWARD

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
