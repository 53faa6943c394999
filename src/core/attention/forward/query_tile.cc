#include "attention/forward/query_tile.h"

#include <algorithm>
#include <cstdint>

#include "attention/empty_row.h"
#include "attention/log2_domain.h"
#include "attention/log2_sum.h"
#include "attention/packed_numbers.h"
#include "attention/score_terms.h"
#include "attention/softmax_row.h"
#include "kernels/dropout_tile.h"
#include "steps/dropout_tile.h"
#include "steps/mask_tile.h"

namespace headwise::inline HEADWISE_ABI {

using kernels::kKeyBlock;
using kernels::kMaxQueryLanes;

namespace {

// Whether attention weights are better not written through the caches: there
// are many, and these begin and end on the caches' lines.
bool past_caches(const AttentionSpec& spec, const kernels::Rows<float>& there,
                 std::size_t keys) {
  constexpr std::size_t kLine = 16;
  constexpr double kMany = 8 << 20;
  const AttentionShape& shape = spec.shape;
  const double all = static_cast<double>(shape.B * shape.Lq * shape.Lkv) *
                     static_cast<double>(
                         spec.attn_weights == AttnWeights::mean ? 0 : shape.Hq);
  return all >= kMany && there.stride == 1 && keys % kLine == 0 &&
         there.row_stride % static_cast<std::ptrdiff_t>(kLine) == 0 &&
         reinterpret_cast<std::uintptr_t>(there.data) % (kLine * 4) == 0;
}

}  // namespace

QueryTile::QueryTile(const AttentionSpec& spec, const BlockScores* scores,
                     Arena& arena)
    : spec_(spec),
      loops_(kernels::attention_tile()),
      layout_(kernels::tile_layout()),
      scores_(scores),
      tile_scores_(spec, arena),
      tile_values_(spec, arena),
      added_(spec, arena),
      statistics_(make_array<TileStatistics>(
          arena, spec.statistics.any() ? 1 : 0, spec)),
      q_t_(arena.take<float>(packed_key_size(spec), kMaxQueryLanes)),
      context_(arena.take<float>(kernels::value_columns(spec.shape.Dv),
                                 kMaxQueryLanes)),
      state_{arena.take<float>(kMaxQueryLanes),
             arena.take<float>(kMaxQueryLanes)},
      only_weighs_p_(!spec.statistics.any() && !spec.dropout.active() &&
                     !BlockScores::kept(spec)) {}

void QueryTile::begin(const QueryRange& range, const CallTensors& tensors) {
  range_ = range;
  place_ = spec_.shape.sequence(range.b);
  const std::size_t vector = loops_.vector_lanes;
  lanes_ = (range.count + vector - 1) / vector * vector;
  visible_begin_ = spec_.mask.visible_begin(range.b, range.first, range.count);
  visible_end_ = spec_.mask.visible_end(range.b, range.first, range.count);
  tile_scores_.begin(range.h);
  added_.pack(spec_.shape.kv_head(range.h));
  tile_scores_.pack_queries(
      rows_of_range<const void>(tensors[CallTensor::query]), lanes_, q_t_);
  std::fill_n(state_.max, lanes_, kMinusInf);
  std::fill_n(state_.sum, lanes_, 0.0f);
  first_ = true;
  for (TileStatistics& statistics : statistics_) {
    statistics.begin(range.b, range.first, range.count, lanes_);
  }
  if (shares_ != nullptr) {
    shares_->begin(range_, lanes_);
  }
}

void QueryTile::resume(const CallTensors& tensors) {
  const auto rows = tensors.floats<4>(CallTensor::state_rows);
  for (std::size_t n = 0; n < range_.count; ++n) {
    const SoftmaxRow row = load_softmax_row(
        rows, place_.batch, range_.h, place_.first_query + range_.first + n);
    state_.max[n] = row.max;
    state_.sum[n] = row.sum;
  }
  const std::size_t Dv = spec_.shape.Dv;
  layout_.pack_queries(
      rows_of_range<const void>(tensors[CallTensor::state_context]), Dv, 1,
      lanes_, context_);
  first_ = false;
}

void QueryTile::save(const CallTensors& tensors) {
  store_softmax_rows(tensors.floats<4>(CallTensor::state_rows));
  const std::size_t Dv = spec_.shape.Dv;
  if (first_) {
    std::fill_n(context_, Dv * lanes_, 0.0f);
  }
  layout_.store_scaled(context_, 1, Dv, lanes_,
                       rows_of_range<void>(tensors[CallTensor::state_context]));
}

Tile QueryTile::tile_of(const PackedHead& head, std::size_t block) const {
  const std::size_t first = head.first_key(block);
  const std::size_t end = std::min(first + head.count(block), visible_end_);
  const std::size_t keys =
      end > first && end > visible_begin_ ? end - first : 0;
  return {range_.b, range_.h, range_.first, range_.count, first, keys};
}

TileKind QueryTile::kind_of(const Tile& tile) const {
  return tile.keys == 0 ? TileKind::empty : classify(spec_.mask, tile);
}

void QueryTile::score_block(const PackedHead& head, std::size_t block,
                            TileKind kind) {
  const Tile tile = tile_of(head, block);
  float* p = scores_->p(block);
  tile_scores_.compute(q_t_, head.keys(block), tile.keys, range_.count, lanes_,
                       p);
  apply_score_terms(spec_, tile, lanes_, p);
  if (kind == TileKind::partial) {
    fill_words(spec_.mask, tile, {scores_->allowed(), kKeyBlock});
    loops_.mask(scores_->allowed(), tile.keys, lanes_, p);
  }
}

void QueryTile::drop(const Tile& tile, float* p) const {
  fill_words(spec_.dropout, tile, {scores_->kept_weights(), kKeyBlock});
  kernels::dropout_tile().drop(scores_->kept_weights(),
                               static_cast<float>(spec_.dropout.factor()),
                               tile.keys, lanes_, p);
}

void QueryTile::take(const PackedHead& head, std::size_t block) {
  const Tile tile = tile_of(head, block);
  const TileKind kind = kind_of(tile);
  if (kind == TileKind::empty) {
    return;
  }
  score_block(head, block, kind);
  float* p = scores_->p(block);
  if (shares_ != nullptr) {
    shares_->take(tile, p,
                  kind == TileKind::partial ? scores_->allowed() : nullptr);
    if (shares_->alone()) {
      return;
    }
  }
  float* const max = scores_->max(block);
  const kernels::Fold fold{max, scores_->sum(), state_, first_};
  if (only_weighs_p_) {
    tile_values_.softmax(tile.keys, lanes_, p, max, scores_->sum());
  } else if (statistics_.empty()) {
    loops_.softmax(tile.keys, lanes_, p, max, scores_->sum());
  } else {
    TileStatistics& statistics = statistics_.front();
    statistics.softmax(tile.first_key, tile.keys, p, max, scores_->sum());
    statistics.take(tile.first_key, tile.keys, p, fold);
  }
  if (spec_.dropout.active()) {
    drop(tile, p);
  }
  weigh_block(head, block, kind, fold);
  loops_.fold(lanes_, fold);
  first_ = false;
}

void QueryTile::weigh_block(const PackedHead& head, std::size_t block,
                            TileKind kind, const kernels::Fold& fold) {
  const std::size_t keys = tile_of(head, block).keys;
  const std::size_t rows = head.count(block);
  kernels::MaskWord* allowed = nullptr;
  if (head.not_finite(block)) {
    if (kind == TileKind::partial) {
      allowed = scores_->allowed();
    } else if (tile_values_.cuts_pair(rows, keys)) {
      allowed = scores_->allowed();
      std::fill_n(allowed, keys, ~kernels::MaskWord{0});
    }
  }
  tile_values_.weigh(scores_->p(block), only_weighs_p_, head.values(block),
                     rows, allowed, keys, range_.count, lanes_, fold, context_);
}

Tile QueryTile::added_tile(std::size_t n) const {
  return added_.tile({range_.b, range_.h, range_.first, range_.count, 0, 0}, n);
}

void QueryTile::score_added(std::size_t n, float* scores) const {
  tile_scores_.compute(q_t_, added_.key(n), 1, range_.count, lanes_, scores);
  apply_softcap(spec_, 1, lanes_, scores);
}

void QueryTile::take_one(const float* p, const float* values, std::size_t keys,
                         const float* max, const float* sum) {
  const kernels::Fold fold{max, sum, state_, first_};
  for (TileStatistics& statistics : statistics_) {
    statistics.take_outcome(fold);
  }
  tile_values_.weigh(p, false, values, keys, nullptr, keys, range_.count,
                     lanes_, fold, context_);
  loops_.fold(lanes_, fold);
  first_ = false;
}

void QueryTile::take_added() {
  alignas(64) float p[kMaxQueryLanes];
  alignas(64) float max[kMaxQueryLanes];
  alignas(64) float sum[kMaxQueryLanes];
  for (std::size_t n = 0; n < added_.count(); ++n) {
    score_added(n, p);
    loops_.softmax(1, lanes_, p, max, sum);
    if (spec_.dropout.active()) {
      drop(added_tile(n), p);
    }
    take_one(p, added_.values(n), 1, max, sum);
  }
}

// A block of its own, whose only score is the sink: its sum is 1, and without a
// value its context is 0.
void QueryTile::take_sink() {
  if (!spec_.sinks.has(range_.h)) {
    return;
  }
  alignas(64) float max[kMaxQueryLanes];
  alignas(64) float sum[kMaxQueryLanes];
  std::fill_n(max, lanes_,
              times_log2e(static_cast<double>(spec_.sinks.of(range_.h))));
  std::fill_n(sum, lanes_, 1.0f);
  take_one(scores_->p(0), scores_->p(0), 0, max, sum);
}

void QueryTile::finish(const CallTensors& tensors, const PackedHead& head,
                       const kernels::Rows<float>& attn_weights) {
  for (TileStatistics& statistics : statistics_) {
    statistics.end_keys(state_);
  }
  if (shares_ != nullptr) {
    shares_->end_keys(state_);
  }
  take_added();
  take_sink();
  if (spec_.shape.Dv != 0) {
    layout_.store(context_, state_.sum, spec_.shape.Dv, lanes_,
                  rows_of_range<void>(tensors[CallTensor::output]));
  }
  if (tensors.has(CallTensor::lse)) {
    store_lse(tensors.floats<3>(CallTensor::lse));
  }
  if (tensors.has(CallTensor::softmax_rows)) {
    store_softmax_rows(tensors.floats<4>(CallTensor::softmax_rows));
  }
  if (attn_weights.data != nullptr) {
    store_weights(head,
                  spec_.attn_weights == AttnWeights::after_dropout &&
                      spec_.dropout.active(),
                  attn_weights);
  }
  if (spec_.scores != ScoresStage::none) {
    store_scores(head, tensors.floats<4>(CallTensor::scores));
  }
  for (const TileStatistics& statistics : statistics_) {
    statistics.finish(range_.h, state_, tensors.statistics());
  }
  if (shares_ != nullptr) {
    shares_->finish(state_);
  }
  finish_empty_rows(tensors[CallTensor::value], tensors[CallTensor::output]);
}

void QueryTile::store_scores(const PackedHead& head,
                             const TensorView<float, 4>& scores) {
  const kernels::Rows<float> rows = rows_of(scores, range_);
  if (rows.data == nullptr) {
    return;
  }
  if (spec_.scores == ScoresStage::softmax) {
    store_weights(head, /*dropped=*/false, rows);
  } else {
    scores_->returned().store(tile_scores_, range_, q_t_, lanes_, head, scores);
    store_added_scores(rows);
  }
}

// No bias and no mask applies to them.
void QueryTile::store_added_scores(const kernels::Rows<float>& scores) const {
  alignas(64) float score[kMaxQueryLanes];
  for (std::size_t n = 0; n < added_.count(); ++n) {
    if (spec_.scores == ScoresStage::raw) {
      tile_scores_.compute(q_t_, added_.key(n), 1, range_.count, lanes_, score);
    } else {
      score_added(n, score);
    }
    kernels::Rows<float> there = scores;
    there.data = &scores.at(0, added_.column(n));
    layout_.store_scaled(score, kLn2, 1, lanes_, there);
  }
}

void QueryTile::store_lse(TensorView<float, 3> lse) const {
  for (std::size_t n = 0; n < range_.count; ++n) {
    lse(place_.batch, range_.h, place_.first_query + range_.first + n) =
        lse_of(state_.max[n], state_.sum[n]);
  }
}

void QueryTile::store_softmax_rows(TensorView<float, 4> rows) const {
  for (std::size_t n = 0; n < range_.count; ++n) {
    store_softmax_row({state_.max[n], state_.sum[n]}, rows, place_.batch,
                      range_.h, place_.first_query + range_.first + n);
  }
}

void QueryTile::finish_empty_rows(const TensorArg& value,
                                  const TensorArg& output) const {
  for (std::size_t n = 0; n < range_.count; ++n) {
    if (state_.sum[n] != 0) {
      continue;
    }
    const RowIndex row{range_.b, range_.h, range_.first + n};
    visit_numbers<void>(output, [&](const auto& to) {
      using T = typename std::decay_t<decltype(to)>::value_type;
      for (std::size_t c = 0; c < spec_.shape.Dv; ++c) {
        to(place_.batch, place_.first_query + row.i, row.h, c) =
            narrowed<T>(empty_output(spec_, row, value, c));
      }
    });
  }
}

void QueryTile::finish_empty_weights(
    bool dropped, const kernels::Rows<float>& weights) const {
  for (std::size_t n = 0; n < range_.count; ++n) {
    const RowIndex row{range_.b, range_.h, range_.first + n};
    for (std::size_t j = 0; state_.sum[n] == 0 && j < place_.Lkv; ++j) {
      weights.at(n, j) = empty_weight(spec_, row, j, dropped);
    }
    for (std::size_t a = 0; state_.sum[n] == 0 && a < added_.count(); ++a) {
      weights.at(n, added_.column(a)) = empty_added_weight(spec_);
    }
  }
}

template <class Visit>
void QueryTile::for_each_block(const PackedHead& head, const Visit& visit) {
  for (std::size_t block = head.first_block(); block < head.end_block();
       ++block) {
    const Tile tile = tile_of(head, block);
    const TileKind kind = kind_of(tile);
    if (kind == TileKind::empty) {
      continue;
    }
    if (!BlockScores::kept(spec_)) {
      score_block(head, block, kind);
      loops_.softmax(tile.keys, lanes_, scores_->p(block), scores_->max(block),
                     scores_->sum());
    } else if (kind == TileKind::partial) {
      fill_words(spec_.mask, tile, {scores_->allowed(), kKeyBlock});
    }
    visit(block, tile, kind);
  }
}

void QueryTile::store_weights(const PackedHead& head, bool dropped,
                              const kernels::Rows<float>& weights) {
  std::size_t next = 0;  // the first key whose weight is not written
  const auto zeros_up_to = [&](std::size_t end) {
    for (std::size_t n = 0; n < range_.count; ++n) {
      for (std::size_t j = next; j < end; ++j) {
        weights.at(n, j) = 0;
      }
    }
  };
  for_each_block(head, [&](std::size_t block, const Tile& tile, TileKind kind) {
    zeros_up_to(tile.first_key);
    next = tile.first_key + tile.keys;
    if (dropped) {
      drop(tile, scores_->p(block));
    }
    kernels::Rows<float> there = weights;
    there.data = &weights.at(0, tile.first_key);
    const auto store = past_caches(spec_, there, tile.keys)
                           ? layout_.stream_weights
                           : layout_.store_weights;
    store(scores_->p(block),
          kind == TileKind::partial ? scores_->allowed() : nullptr,
          scores_->max(block), state_, tile.keys, lanes_, there);
  });
  zeros_up_to(place_.Lkv);
  store_added_weights(dropped, weights);
  finish_empty_weights(dropped, weights);
}

void QueryTile::store_added_weights(bool dropped,
                                    const kernels::Rows<float>& weights) {
  alignas(64) float p[kMaxQueryLanes];
  alignas(64) float max[kMaxQueryLanes];
  alignas(64) float sum[kMaxQueryLanes];
  for (std::size_t n = 0; n < added_.count(); ++n) {
    score_added(n, p);
    loops_.softmax(1, lanes_, p, max, sum);
    if (dropped) {
      drop(added_tile(n), p);
    }
    kernels::Rows<float> there = weights;
    there.data = &weights.at(0, added_.column(n));
    layout_.store_weights(p, nullptr, max, state_, 1, lanes_, there);
  }
}

void QueryTile::add_to(const PackedHead& head, const RowsTogether& together) {
  if (statistics_.empty()) {
    return;
  }
  const TileStatistics& statistics = statistics_.front();
  const StatisticsOptions& wanted = spec_.statistics.wanted();
  if (wanted.map) {
    statistics.add_to_map(state_, together);
  }
  const std::uint64_t rows = statistics.counted();
  if (!wanted.columns || (rows == 0 && statistics.not_numbers() == 0)) {
    return;
  }
  if (statistics.not_numbers() != 0) {
    std::fill_n(together.columns, kernels::column_sums_size(place_.Lkv), kNaN);
    return;
  }
  for_each_block(head, [&](std::size_t block, const Tile& tile, TileKind) {
    kernels::statistics_tile().add_columns(
        scores_->p(block), scores_->max(block), state_, tile.keys, lanes_,
        range_.first, rows,
        together.columns + block * kernels::column_sums_size(kKeyBlock));
  });
}

}  // namespace headwise::inline HEADWISE_ABI
