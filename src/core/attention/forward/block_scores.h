// What a worker's tiles share: room for the scores of a block, or of all blocks
// where the attention weights are made of them in the end.
#pragma once

#include <cstddef>

#include "attention/forward/returned_scores.h"
#include "headwise/attention/spec.h"
#include "kernels/attention_tile.h"
#include "run/arena.h"

namespace headwise::inline HEADWISE_ABI {

class BlockScores {
 public:
  // Up to this number of keys the p of all blocks are kept for the attention
  // weights; beyond, they are computed again from the same scores.
  static constexpr std::size_t kKeptKeys = 1024;
  // The same for the sums of columns, which write nothing of that size.
  static constexpr std::size_t kKeptKeysOfColumns = 8192;

  BlockScores(const AttentionSpec& spec, Arena& arena);

  // Whether the p of every block are kept; a tile then must be finished before
  // the next one begins.
  static bool kept(const AttentionSpec& spec);

  float* p(std::size_t block) const { return p_ + block * block_stride_; }
  float* max(std::size_t block) const { return max_ + block * max_stride_; }
  float* sum() const { return sum_; }
  kernels::MaskWord* allowed() const { return allowed_; }
  kernels::MaskWord* kept_weights() const { return kept_weights_; }
  const ReturnedScores& returned() const { return returned_; }

 private:
  std::size_t block_stride_;  // 0: every block uses the same room
  std::size_t max_stride_;
  float* p_;    // (kKeyBlock, lanes): scores, then p
  float* max_;  // (lanes)
  float* sum_;  // (lanes)
  kernels::MaskWord* allowed_;
  kernels::MaskWord* kept_weights_;  // by dropout
  ReturnedScores returned_;
};

}  // namespace headwise::inline HEADWISE_ABI
