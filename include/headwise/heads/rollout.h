// Attention rollout: how much of each input token reaches an output token
// through all layers, if attention and the residual connection pass it on in
// equal parts.
//
//   A_l[i,j]  = mean over the heads of the attention weights of layer l
//   M_l[i,j]  = (A_l[i,j] + [i = j]) / (sum_j A_l[i,j] + 1)
//   rollout   = rows M_N ... M_2 M_1
//
//   rows     (B, R, L)   in   weights of the output tokens; a row that is 1
//                             at one token asks for that token
//   rollout  (B, R, L)   out  shares of the input tokens; each row keeps its
//                             sum
//
// The sum of a row of A is 1 with a plain softmax, so M is half of A and half
// of the identity. It is 0 in a fully masked row, which keeps its own
// token, and less than 1 with a sink or added keys, which are no tokens. A
// layer without heads passes everything on.
//
// The rows go through the layers from the last to the first, each time in one
// pass over queries and keys: memory grows with R L, never with L^2.
//
// Bits depend neither on the batch nor on the threads.
//
// Source: Abnar & Zuidema 2020, arXiv:2005.00928, section 3.
//
// Example:
//   auto first = Tensor<float, 3>::create({1, 1, L}).value();
//   first(0, 0, 0) = 1;  // of [CLS]
//   auto shares = rollout(layers, first).value();
#pragma once

#include <cstddef>
#include <span>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/steps/head_groups.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Queries and keys of a layer as attention compares them.
struct ComparedHeads {
  TensorView<const float, 4> query;  // (B, L, Hq, D); Hq is 0 without heads
  TensorView<const float, 4> key;    // (B, L, Hkv, D)
  // Of this layer, as pruning may leave them; else those of the options.
  HeadGroups kv_groups{};
  const AttentionOptions* options = nullptr;  // of this layer; null: all alike
};

// `layers` from the first to the last; the options are those of every layer.
// In a ragged batch B is 1 and L counts the tokens of all sequences. Errors:
// those of attention(); shape_mismatch for layers and rows of different
// lengths; invalid_argument for no layer.
Result<Tensor<float, 3>> rollout(
    std::span<const ComparedHeads> layers, TensorView<const float, 3> rows,
    const AttentionOptions& options = {},
    const OperationOptions& operation_options = {});

// Attention flow: the most that can flow from an output token to each input
// token through all layers, if attention weights are the capacities of pipes.
//
//   M_l[i,j] = (A_l[i,j] + [i = j]) / (sum_j A_l[i,j] + 1)
//
// is the capacity of the pipe from token i after layer l to token j before it,
// as in heads/rollout.h; A_l is the mean over the heads of the attention
// weights. The flow to one input token is computed as if the others were
// closed, so flows do not add up to 1.
//
//   weights  (N, L, L)   in   A_l of each layer, from the first to the last
//   flow     (L)         out  maximum flow from `token` to each input token
//
// Every pair is a pipe, so memory grows with N L^2, and time with the number of
// augmenting paths; texts of more than kMostFlowTokens tokens are refused. A
// flow that is at most 1e-12 counts as none.
//
// Source: Abnar & Zuidema 2020, arXiv:2005.00928, section 3; Dinic 1970 for the
// maximum flow.

inline constexpr std::size_t kMostFlowTokens = 128;

// Errors: shape_mismatch for weights of another shape; out_of_range for a token
// that does not exist, and for weights that are not finite or below 0;
// unsupported for more than kMostFlowTokens tokens; out_of_memory.
Result<Tensor<double, 1>> attention_flow(
    TensorView<const float, 3> weights, std::size_t token,
    const Executor& executor = Executor::default_executor());

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
