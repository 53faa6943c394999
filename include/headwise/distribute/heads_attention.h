// One call of attention by all ranks of a group, exchanged by heads: each rank
// has some tokens of all heads, receives all tokens of some heads, computes
// them in one call and sends the outputs back. The outputs have the bits of
// attention() on the whole tensors.
//
// It moves each element of query, key, value and output once, so it is cheap if
// there are enough heads; a rank without heads only takes part in the exchange.
// During the call a rank holds its heads of the whole tensors.
//
// The tensors of a rank, and what all ranks must be given alike, are those of
// distribute/context_attention.h. Attention weights and scores, where the
// options ask for them, do not travel: a rank gets those of the heads that it
// computes, (B, heads of the rank, Lq, Lkv), as from a call of attention() on
// these heads.
//
// Errors, on every rank: those of attention() for the whole call;
// invalid_argument for ranks that were given different calls, and for plans
// that do not fit the call; unsupported for the mean of attention weights
// (mean_of_heads()) and for statistics; rank_failure. After an error
// the group cannot be used, and outputs may be partly written. Source: Jacobs
// et al. 2023, arXiv:2309.14509.
#pragma once

#include <cstddef>

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/half.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/shard_plan.h"
#include "headwise/steps/shape.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct HeadsCall {
  // The sizes of the whole call's tensors; of a ragged batch B is 1, and Lq and
  // Lkv are its rows.
  AttentionShape tensors{};
  ShardPlan tokens{};  // by context: the rows that a rank passes and gets
  ShardPlan heads{};   // by heads: what it computes
  AttentionOptions options{};
  OperationOptions operation_options{};
};

Status heads_attention(Communicator& group, const HeadsCall& call,
                       const CallTensors& own);
// The same of tensors of each type.
#define HEADWISE_HEADS_ATTENTION(T)                                         \
  inline Status heads_attention(Communicator& group, const HeadsCall& call, \
                                const AttentionInputsOf<T>& own,            \
                                const AttentionOutputsOf<T>& outputs) {     \
    return heads_attention(group, call, CallTensors(own, outputs));         \
  }
HEADWISE_HEADS_ATTENTION(float)
HEADWISE_HEADS_ATTENTION(BFloat16)
HEADWISE_HEADS_ATTENTION(Float16)
#undef HEADWISE_HEADS_ATTENTION

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

Status heads_attention_backward(Communicator& group, const HeadsCall& call,
                                const CallTensors& own);
// The same of tensors of each type.
#define HEADWISE_HEADS_BACKWARD(T)                                             \
  inline Status heads_attention_backward(                                      \
      Communicator& group, const HeadsCall& call,                              \
      const BackwardInputsOf<T>& own,                                          \
      const AttentionGradientsOf<T>& gradients) {                              \
    return heads_attention_backward(group, call, CallTensors(own, gradients)); \
  }
HEADWISE_HEADS_BACKWARD(float)
HEADWISE_HEADS_BACKWARD(BFloat16)
HEADWISE_HEADS_BACKWARD(Float16)
#undef HEADWISE_HEADS_BACKWARD

// The mean of attention weights over heads that are divided among ranks, as one
// process returns it for AttnWeights::mean. Ask heads_attention() or LayerShard
// for AttnWeights::per_head, and pass the weights that each rank gets.
//
//   own   (B, heads of the rank, Lq, Lkv)  in
//   mean  (B, 1, Lq, Lkv)                  out  on rank 0; empty on the others
//
// The sum goes from rank to rank, in the order of the heads, so it has the bits
// of one process, and no rank holds the weights of all heads. While one rank
// adds its heads, the others wait.
//
// Errors, on every rank: invalid_argument for a plan of another number of
// ranks, or ranks that were given different plans or means; shape_mismatch for
// `own` and `mean`; rank_failure; out_of_memory. After an error the group
// cannot be used.
//
// Example: the mean of the weights, and its gradient for each head.
//   auto mean = mean_of_heads(group, call.heads, {B, 1, Lq, Lkv}, weights);
//   auto d_weights = gradient_of_each_head(d_mean, num_heads);

// `heads`: the plan by heads; `mean`: the extents of the mean.
Result<Tensor<float, 4>> mean_of_heads(Communicator& group,
                                       const ShardPlan& heads,
                                       const Extents<4>& mean,
                                       TensorView<const float, 4> own);

// The gradient of the weights of one head, from the gradient of the mean over
// `heads` heads, both (B, 1, Lq, Lkv). It is the same for all heads. Errors:
// out_of_memory.
Result<Tensor<float, 4>> gradient_of_each_head(
    TensorView<const float, 4> d_mean, std::size_t heads);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
