#include "attention/forward/tile_scores.h"

#include "attention/log2_domain.h"
#include "attention/packed_numbers.h"
#include "kernels/tile_layout.h"

namespace headwise::inline HEADWISE_ABI {

TileScores::TileScores(const AttentionSpec& spec, Arena& arena)
    : spec_(spec),
      products_(kernels::attention_tile()),
      additive_(kernels::additive_tile()),
      pairs_(keys_in_pairs(spec) ? &kernels::pair_tile() : nullptr),
      score_weight_(spec.additive()
                        ? arena.take<float>(kernels::row_size(spec.shape.D))
                        : nullptr),
      widened_(pairs_ != nullptr
                   ? arena.take<float>(spec.shape.D, kernels::kMaxQueryLanes)
                   : nullptr) {}

float TileScores::query_factor() const {
  return spec_.additive() ? 1 : times_log2e(spec_.scale);
}

void TileScores::pack_queries(const kernels::NumberRows<const void>& q,
                              std::size_t lanes, float* q_t) const {
  const std::size_t D = spec_.shape.D;
  if (pairs_ == nullptr) {
    kernels::tile_layout().pack_queries(q, D, query_factor(), lanes, q_t);
    return;
  }
  kernels::tile_layout().pack_queries(q, D, 1, lanes, widened_);
  pairs_->pair_rows(widened_, D, lanes, q_t);
}

void TileScores::begin(std::size_t h) {
  if (!spec_.additive()) {
    return;
  }
  const TensorView<const float, 2>& all = spec_.score_weight;
  kernels::tile_layout().pack_rows(
      kernels::Rows<const float>{&all(h, 0), 1, all.stride(0), all.stride(1)},
      spec_.shape.D, kernels::row_size(spec_.shape.D), score_weight_);
}

void TileScores::compute(const float* q_t, const float* keys, std::size_t count,
                         std::size_t queries, std::size_t lanes,
                         float* scores) const {
  const std::size_t D = spec_.shape.D;
  if (spec_.additive()) {
    additive_.score(q_t, keys, score_weight_, count, D, lanes, scores);
  } else if (pairs_ != nullptr) {
    pairs_->score(q_t, keys, count, D, queries, times_log2e(spec_.scale),
                  scores);
  } else {
    products_.score(q_t, keys, D, count, D, queries, scores);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
