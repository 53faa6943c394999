// A multi-head attention layer whose tokens are divided among the ranks of a
// group (distribute/shard_plan.h): each rank projects its own tokens, attends
// as in distribute/context_attention.h and projects the outputs of its own
// queries. The results have the bits of MultiHeadAttention on the whole inputs.
//
//   query   (1, queries, query_dim)  in   the rows of the rank's pieces, one
//   key     (1, keys, kdim)          in   after the other, in the order of
//   value   (1, keys, vdim)          in   plan.ranks[rank].queries and .keys
//   output  (1, queries, E)          out
//   lse     (1, num_heads, queries)  out
//
// Every rank has the whole layer. It keeps its own tokens only, so inputs,
// projections and outputs take 1/P of the memory of one process. Inputs of 16
// bits: widen them, and round the outputs, in a layer without a w_o before the
// backward pass (docs/arithmetic.md, "16-bit tensors").
//
// Every rank passes the options and positions of the whole call. The ranks
// compare sizes and most options, but not the contents of tensors and
// parameters.
//
// Backward: a rank gets the gradients of its own tokens, and rank 0 those of
// the parameters and options. These are sums over all tokens, so for each
// projection the inputs and the output gradients of all tokens go to every
// rank, which sums its share of the output features in the order of one
// process (distribute/layer_shard.h); for each norm they go to rank 0.
//
// In a step over a ContextCache every rank passes all new tokens and gets all
// outputs: a step has few tokens, and the cache takes most of the memory.
//
// Errors, on every rank: those of MultiHeadAttention and of
// context_attention(); invalid_argument for a layer without heads or with an
// open input size; rank_failure. After an error the group cannot be used.
//
// Source: Liu et al. 2023, arXiv:2310.01889 (tokens divided).
//
// Example:
//   ContextLayerCall call = {.B = 1, .Lq = 50'000, .Lkv = 50'000, .plan = plan,
//                            .options = {.mask = causal()}};
//   auto run = context_layer(group, layer, call, {x, x, x}).value();
//   send(run.result.output);  // (1, queries, E)
#pragma once

#include <cstddef>
#include <span>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/decode/kv_cache.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/context_attention.h"
#include "headwise/distribute/context_cache.h"
#include "headwise/distribute/shard_plan.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/rotate_heads.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct ContextLayerCall {
  // The sizes of the whole call; in a ragged batch B is 1, and Lq and Lkv are
  // the numbers of rows.
  std::size_t B = 1;
  std::size_t Lq = 0;
  std::size_t Lkv = 0;
  ShardPlan plan{};  // by context
  AttentionOptions options{};
  HeadPositions positions{};  // of all tokens
  bool for_backward = false;  // keep what the backward pass needs
  // As in ContextCall.
  KeyTransport keys = KeyTransport::automatic;
  std::size_t chunk_keys = 3072;
};

// The rows of one rank.
struct ContextLayerInputs {
  TensorView<const float, 3> query;
  TensorView<const float, 3> key;
  TensorView<const float, 3> value;
};

struct ContextLayerRun {
  MultiHeadAttentionResult<3> result;
  // The rest is for the backward pass. query and key are the projections;
  // normed_query and normed_key are set if the layer normalises them.
  Tensor<float, 3> query{};  // (1, queries, num_heads * head_dim)
  Tensor<float, 3> key{};    // (1, keys, num_kv_heads * head_dim)
  Tensor<float, 3> value{};  // (1, keys, num_kv_heads * v_head_dim), or empty
  Tensor<float, 3> normed_query{};
  Tensor<float, 3> normed_key{};
  // The input of w_o; empty without one.
  Tensor<float, 3> merged{};        // (1, queries, num_heads * v_head_dim)
  Tensor<float, 4> softmax_rows{};  // (1, num_heads, queries, 2)
};

Result<ContextLayerRun> context_layer(Communicator& group,
                                      const MultiHeadAttention& layer,
                                      const ContextLayerCall& call,
                                      const ContextLayerInputs& own);

// `run`: the result of context_layer() for the same call, with for_backward;
// `d_output`: (1, queries, E). The gradients of query, key and value are those
// of the rank's rows.
Result<MultiHeadAttentionGradients> context_layer_backward(
    Communicator& group, const MultiHeadAttention& layer,
    const ContextLayerCall& call, const ContextLayerInputs& own,
    const ContextLayerRun& run, TensorView<const float, 3> d_output);

// Self-attention over a cache, as with LayerOptions::cache: `tokens` (B, L,
// dim) are the new tokens of the sequences `ids` (B), in a ragged batch (1,
// rows, dim) with options.offsets. They are appended to the cache
// and attend to all tokens of their sequences that the mask allows. Each rank
// projects some of the tokens. The output is (B, L, E), or (1, rows, E).
// Errors, on every rank: those of ContextCache::step() and of context_layer().
//
// Example:
//   auto y = context_layer_step(group, layer, cache, {{id}}, {x, x, x},
//                               {.mask = causal()}).value();
Result<Tensor<float, 3>> context_layer_step(
    Communicator& group, const MultiHeadAttention& layer, ContextCache& cache,
    std::span<const SequenceId> ids, const ContextLayerInputs& tokens,
    const AttentionOptions& options = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
