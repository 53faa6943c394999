#include "attention/forward/block_scores.h"

#include <algorithm>

#include "attention/forward/packed_head.h"

namespace headwise::inline HEADWISE_ABI {

using kernels::kKeyBlock;
using kernels::kMaxQueryLanes;

bool BlockScores::kept(const AttentionSpec& spec) {
  const std::size_t keys = spec.shape.Lkv;
  return !spec.dropout.active() &&
         ((spec.attn_weights != AttnWeights::none && keys <= kKeptKeys) ||
          (spec.statistics.wanted().columns && keys <= kKeptKeysOfColumns));
}

BlockScores::BlockScores(const AttentionSpec& spec, Arena& arena)
    : block_stride_(kept(spec) ? kKeyBlock * kMaxQueryLanes : 0),
      max_stride_(kept(spec) ? kMaxQueryLanes : 0),
      returned_(spec, arena) {
  const std::size_t blocks =
      kept(spec) ? std::max<std::size_t>(key_blocks(spec.shape.Lkv), 1) : 1;
  p_ = arena.take<float>(blocks, kKeyBlock, kMaxQueryLanes);
  max_ = arena.take<float>(blocks, kMaxQueryLanes);
  sum_ = arena.take<float>(kMaxQueryLanes);
  allowed_ = arena.take<kernels::MaskWord>(kKeyBlock);
  kept_weights_ =
      arena.take<kernels::MaskWord>(spec.dropout.active() ? kKeyBlock : 0);
}

}  // namespace headwise::inline HEADWISE_ABI
