#include "attention/forward/share_tile.h"

#include <algorithm>
#include <cmath>

#include "kernels/score_terms.h"

namespace headwise::inline HEADWISE_ABI {

using kernels::kKeyBlock;
using kernels::kMaxQueryLanes;

ShareTile::ShareTile(const KeyShares* of, Arena& arena)
    : of_(*of),
      loops_(kernels::attention_tile()),
      statistics_(of->spec, arena),
      p_(arena.take<float>(kKeyBlock, kMaxQueryLanes)) {
  const auto lanes = [&] { return arena.take<float>(kMaxQueryLanes); };
  max_ = lanes();
  sum_ = lanes();
  mean_reciprocal_ = lanes();
  state_ = {lanes(), lanes()};
  weights_ = {lanes(), lanes()};
}

void ShareTile::begin(const QueryRange& range, std::size_t lanes) {
  range_ = range;
  place_ = of_.spec.shape.sequence(range.b);
  lanes_ = lanes;
  first_ = true;
  std::fill_n(state_.max, lanes, kMinusInf);
  std::fill_n(state_.sum, lanes, 0.0f);
  statistics_.begin(range.b, range.first, range.count, lanes);
}

void ShareTile::take(const Tile& tile, float* scores,
                     const kernels::MaskWord* allowed) {
  const std::size_t key = place_.first_key + tile.first_key;
  float* const p = of_.alone ? scores : p_;
  kernels::score_terms().add_key_bias(
      &of_.logarithms(place_.batch, range_.h, key), tile.keys, lanes_, scores,
      p);
  if (allowed != nullptr) {  // a masked key may have NaN
    loops_.mask(allowed, tile.keys, lanes_, p);
  }
  const kernels::Fold fold{max_, sum_, state_, first_};
  statistics_.softmax(tile.first_key, tile.keys, p, max_, sum_);
  statistics_.take(tile.first_key, tile.keys, p, fold);
  loops_.weigh_rows(p, &of_.reciprocals(place_.batch, range_.h, key), 1,
                    allowed, tile.keys, 1, range_.count, fold,
                    mean_reciprocal_);
  loops_.fold(lanes_, fold);
  first_ = false;
}

void ShareTile::end_keys(const kernels::RowState& state) {
  statistics_.end_keys(state_);
  std::copy_n(state.max, lanes_, weights_.max);
  std::copy_n(state.sum, lanes_, weights_.sum);
}

// The mean of the numbers by the attention weights of the keys is the
// reciprocal of the mean of their reciprocals by the shares, since
// sum_j (w numbers / sums) (1 / numbers) = sum_j w / sums.
void ShareTile::finish(const kernels::RowState& state) {
  alignas(64) float of_keys[kMaxQueryLanes];
  kernels::statistics_tile().weights(lanes_, weights_.sum, weights_.max, state,
                                     of_keys);
  const bool other_outcomes =
      of_.spec.added_keys.count() != 0 || of_.spec.sinks.has(range_.h);
  for (std::size_t n = 0; n < range_.count; ++n) {
    const float reciprocal = mean_reciprocal_[n] / state_.sum[n];
    const float mean = state_.sum[n] == 0 ? 0 : 1 / reciprocal;
    const float sum = other_outcomes && mean != 0 ? mean * of_keys[n] : mean;
    of_.sums(place_.batch, place_.first_query + range_.first + n, range_.h) =
        std::isnan(sum) ? kNaN : sum;
  }
  statistics_.finish(range_.h, state_, of_.statistics);
}

}  // namespace headwise::inline HEADWISE_ABI
