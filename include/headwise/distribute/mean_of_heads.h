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
#pragma once

#include <cstddef>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/shard_plan.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

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
