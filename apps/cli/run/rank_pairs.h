// The attention weights and scores of a call that is divided by heads: each
// rank has those of its heads.
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/shard_plan.h"

namespace headwise::cli {

// The options of one rank. It computes all weights of its heads: their mean is
// taken over the heads of all ranks.
AttentionOptions options_of_heads(AttentionOptions options);

// A rank's part of the gradient of the attention weights.
struct OwnPairs {
  TensorView<const float, 4> view{};
  Tensor<float, 4> memory{};  // that of `view`, or none
};

class RankPairs {
 public:
  // The arguments must outlive it. `spec`: of the whole call; `heads`: no ranks
  // if the call is not divided by heads.
  RankPairs(Communicator& group, const AttentionSpec& spec,
            const ShardPlan& heads)
      : group_(group), spec_(spec), heads_(heads) {}

  // (B, heads, Lq, Lkv), with the columns of added keys.
  Extents<4> extents(std::size_t heads) const {
    return {spec_.shape.B, heads, spec_.shape.Lq, spec_.pair_columns()};
  }
  // The rank's, if they are asked for. Errors: out_of_memory.
  Result<Tensor<float, 4>> make_own(bool asked) const;

  // Rank 0 gets one tensor of the parts of all ranks: all heads, or their mean
  // if that is asked for. Empty if nothing is asked for. Errors: out_of_memory,
  // rank_failure.
  Result<Tensor<float, 4>> collect_weights(Tensor<float, 4>& own) const;
  Result<Tensor<float, 4>> collect_scores(Tensor<float, 4>& own) const;

  // The rank's part of --d-attn-weights, which must outlive it. Errors:
  // out_of_memory.
  Result<OwnPairs> own_gradient(const Tensor<float, 4>& whole) const;

 private:
  std::size_t own_heads() const {
    return heads_.ranks[group_.rank()].heads.count;
  }
  Result<Tensor<float, 4>> collect(Tensor<float, 4>& own) const;

  Communicator& group_;
  const AttentionSpec& spec_;
  const ShardPlan& heads_;
};

}  // namespace headwise::cli
