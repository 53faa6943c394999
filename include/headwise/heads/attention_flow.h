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
#pragma once

#include <cstddef>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

inline constexpr std::size_t kMostFlowTokens = 128;

// Errors: shape_mismatch for weights of another shape; out_of_range for a token
// that does not exist, and for weights that are not finite or below 0;
// unsupported for more than kMostFlowTokens tokens; out_of_memory.
Result<Tensor<double, 1>> attention_flow(
    TensorView<const float, 3> weights, std::size_t token,
    const Executor& executor = Executor::default_executor());

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
