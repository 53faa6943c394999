// One call of attention by all ranks of a group, each with some of its tokens
// (distribute/shard_plan.h). Every rank calls it with the same call and its own
// tensors, and gets the outputs of its queries. They have the bits of
// attention() on the whole tensors, for any number of ranks and any plan.
//
//   query         (1, queries, Hq, D)   in   the rows of the rank's pieces, one
//   key           (1, keys, Hkv, D)     in   after the other, in the order of
//   value         (1, keys, Hkv, Dv)    in   plan.ranks[rank].queries and .keys
//   output        (1, queries, Hq, Dv)  out
//   lse           (1, Hq, queries)      out  no view: not computed
//   softmax_rows  (1, Hq, queries, 2)   out  no view: not computed
//
// A rank keeps its queries. Keys and values travel in chunks, in the order of
// the keys, each from its owner through the ranks whose queries may see one of
// its keys; the next chunk travels while one is computed. The rows resume from
// their AttentionState (attention/state.h), so a rank needs memory for its own
// tensors, for that state, (Dv + 2) * Hq floats per query, and for two chunks.
// Where each rank needs few keys of others, as under a short window, it
// receives them before it computes, so that all ranks compute at the same time:
// two more chunks, or as many keys as ranks have of their own, at most a
// quarter of all. With KeyTransport::gathered every rank first receives all
// keys and values.
//
// The options are those of the whole call: masks, biases, offsets and all other
// tensors that they point to are whole on each rank, with the same numbers. The
// ranks compare sizes, mask rules, ranges of visible keys, the scale and the
// other numbers, ALiBi slopes, sinks and T5's table. They do not compare the
// contents of dense masks, biases, score_weight, added keys and keep masks.
//
// Errors, on every rank: those of attention() for the whole call;
// invalid_argument for ranks that were given different calls, and for a plan
// that does not fit the call; unsupported for attention weights, scores and
// statistics and, unless `keys` is gathered, for what a part of the keys does
// not support (attention/state.h); rank_failure. After an error the group
// cannot be used, and outputs may be partly written.
//
// Example:
//   ContextCall call = {.tensors = {.B = 1, .Hq = 8, .Hkv = 2, .Lq = 50'000,
//                                   .Lkv = 50'000, .D = 64, .Dv = 64},
//                       .plan = plan,
//                       .options = {.mask = causal()}};
//   Status s = context_attention(group, call, {q, k, v}, {.output = out});
#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/half.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/shard_plan.h"
#include "headwise/steps/shape.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// How keys and values reach the queries.
enum class KeyTransport : std::uint8_t {
  automatic,  // gathered where all keys are at most one chunk
  chunks,
  gathered,
};

struct ContextCall {
  // The sizes of the whole call's tensors; of a ragged batch B is 1, and Lq and
  // Lkv are its rows.
  AttentionShape tensors{};
  ShardPlan plan{};  // by context
  AttentionOptions options{};
  OperationOptions operation_options{};
  KeyTransport keys = KeyTransport::automatic;
  // The most keys of a chunk, a multiple of 128.
  std::size_t chunk_keys = 3072;
};

Status context_attention(Communicator& group, const ContextCall& call,
                         const CallTensors& own);
// The same of tensors of each type.
#define HEADWISE_CONTEXT_ATTENTION(T)                                          \
  inline Status context_attention(                                             \
      Communicator& group, const ContextCall& call,                            \
      const AttentionInputsOf<T>& own, const AttentionOutputsOf<T>& outputs) { \
    return context_attention(group, call, CallTensors(own, outputs));          \
  }
HEADWISE_CONTEXT_ATTENTION(float)
HEADWISE_CONTEXT_ATTENTION(BFloat16)
HEADWISE_CONTEXT_ATTENTION(Float16)
#undef HEADWISE_CONTEXT_ATTENTION

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
// computed as in distribute/heads_attention.h, so a rank then also holds all
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

Status context_attention_backward(Communicator& group, const ContextCall& call,
                                  const CallTensors& own);
// The same of tensors of each type.
#define HEADWISE_CONTEXT_BACKWARD(T)                                \
  inline Status context_attention_backward(                         \
      Communicator& group, const ContextCall& call,                 \
      const BackwardInputsOf<T>& own,                               \
      const AttentionGradientsOf<T>& gradients) {                   \
    return context_attention_backward(group, call,                  \
                                      CallTensors(own, gradients)); \
  }
HEADWISE_CONTEXT_BACKWARD(float)
HEADWISE_CONTEXT_BACKWARD(BFloat16)
HEADWISE_CONTEXT_BACKWARD(Float16)
#undef HEADWISE_CONTEXT_BACKWARD

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
