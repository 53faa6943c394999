#include "decode/group_tile.h"

#include <algorithm>
#include <cmath>

#include "attention/empty_row.h"
#include "attention/log2_sum.h"
#include "attention/number_rows.h"
#include "attention/schedule.h"
#include "attention/score_terms.h"
#include "kernels/row_tile.h"
#include "steps/mask_tile.h"

namespace headwise::inline HEADWISE_ABI {

using kernels::kKeyBlock;
using kernels::kMaxQueryLanes;
using kernels::MaskWord;

namespace {

std::size_t rows_of_a_tile(const AttentionShape& shape) {
  return std::min(shape.largest_group() * std::min(shape.Lq, kFewQueries),
                  GroupTile::most_rows());
}

}  // namespace

GroupRows::GroupRows(const AttentionSpec& spec, Arena& arena)
    : state{arena.take<float>(kMaxQueryLanes),
            arena.take<float>(kMaxQueryLanes)},
      context(arena.take<float>(rows_of_a_tile(spec.shape),
                                kernels::whole_lines(spec.shape.Dv))) {}

GroupTile::GroupTile(const AttentionSpec& spec, Arena& arena)
    : spec_(spec),
      loops_(kernels::attention_tile()),
      layout_(kernels::tile_layout()),
      tile_scores_(spec, arena),
      tile_values_(spec, arena),
      rows_(arena.take<float>(kMaxQueryLanes, spec.shape.D)),
      q_t_(arena.take<float>(packed_key_size(spec), kMaxQueryLanes)),
      context_(arena.take<float>(kernels::value_columns(spec.shape.Dv),
                                 kMaxQueryLanes)),
      p_(arena.take<float>(kKeyBlock, kMaxQueryLanes)),
      max_(arena.take<float>(kMaxQueryLanes)),
      sum_(arena.take<float>(kMaxQueryLanes)),
      state_{arena.take<float>(kMaxQueryLanes),
             arena.take<float>(kMaxQueryLanes)},
      words_(arena.take<MaskWord>(kKeyBlock)),
      allowed_(arena.take<MaskWord>(kKeyBlock)) {}

bool GroupTile::serves(const AttentionSpec& spec) {
  return !has_head_terms(spec) && !spec.sinks.given() &&
         spec.shape.Dv % kernels::kValuePanel == 0;
}

void GroupTile::begin(std::size_t b, std::size_t g, std::size_t first,
                      std::size_t count, const TensorArg& query) {
  b_ = b;
  place_ = spec_.shape.sequence(b);
  first_head_ = spec_.shape.first_query_head(g);
  first_ = first;
  count_ = count;
  const std::size_t vector = loops_.vector_lanes;
  lanes_ = (count + vector - 1) / vector * vector;
  const std::size_t D = spec_.shape.D;
  for (std::size_t n = 0; n < count; ++n) {
    layout_.pack_keys(number_rows<const void>(query, place_.batch,
                                              place_.first_query + query_of(n),
                                              head_of(n), 1),
                      D, rows_ + n * D);
  }
  tile_scores_.pack_queries(
      kernels::Rows<const float>{rows_, count, static_cast<std::ptrdiff_t>(D),
                                 1},
      lanes_, q_t_);
  begin_rows();
}

void GroupTile::begin_rows() {
  std::fill_n(state_.max, lanes_, kMinusInf);
  std::fill_n(state_.sum, lanes_, 0.0f);
  empty_ = true;
}

// Head by head, as the mask has them.
TileKind GroupTile::mask_words(Tile tile) {
  bool everything = true;
  bool nothing = true;
  std::fill_n(allowed_, tile.keys, MaskWord{0});
  for (std::size_t n = 0; n < count_; n += tile.queries) {
    tile.h = head_of(n);
    tile.first_query = query_of(n);
    tile.queries = std::min(count_ - n, place_.Lq - tile.first_query);
    const TileKind kind = classify(spec_.mask, tile);
    everything = everything && kind == TileKind::full;
    nothing = nothing && kind == TileKind::empty;
    const MaskWord all = (MaskWord{1} << tile.queries) - 1;
    if (kind == TileKind::partial) {
      fill_words(spec_.mask, tile, {words_, kKeyBlock});
    }
    for (std::size_t k = 0; kind != TileKind::empty && k < tile.keys; ++k) {
      allowed_[k] |= (kind == TileKind::full ? all : words_[k] & all) << n;
    }
  }
  return tile_kind(everything, nothing);
}

void GroupTile::take(const PackedHead& head, std::size_t block) {
  const Tile tile = {b_, 0, 0, 0, head.first_key(block), head.count(block)};
  const TileKind kind =
      spec_.mask.allows_all() ? TileKind::full : mask_words(tile);
  if (kind == TileKind::empty) {
    return;
  }
  tile_scores_.compute(q_t_, head.keys(block), tile.keys, count_, lanes_, p_);
  apply_score_terms(spec_, tile, lanes_, p_);
  if (kind == TileKind::partial) {
    loops_.mask(allowed_, tile.keys, lanes_, p_);
  }
  tile_values_.softmax(tile.keys, lanes_, p_, max_, sum_);
  const kernels::Fold fold{max_, sum_, state_, empty_};
  const bool selects = kind == TileKind::partial && head.not_finite(block);
  weigh(head, block, selects ? allowed_ : nullptr, fold);
  loops_.fold(lanes_, fold);
  empty_ = false;
}

void GroupTile::weigh(const PackedHead& head, std::size_t block,
                      MaskWord* allowed, const kernels::Fold& fold) const {
  const std::size_t keys = head.count(block);
  if (values_in_keys(spec_)) {
    loops_.weigh_rows(p_, head.keys(block), spec_.shape.D, allowed, keys,
                      spec_.shape.Dv, count_, fold, context_);
  } else {
    tile_values_.weigh(p_, true, head.values(block), keys, allowed, keys,
                       count_, lanes_, fold, context_);
  }
}

void GroupTile::finish(const CallTensors& tensors) const {
  for (std::size_t n = 0; n < count_; ++n) {
    finish_row(n, {state_.max[n], state_.sum[n], context_ + n, lanes_},
               tensors);
  }
}

void GroupTile::store(const GroupRows& rows) const {
  const std::size_t line = kernels::whole_lines(spec_.shape.Dv);
  std::fill_n(rows.state.max, kMaxQueryLanes, kMinusInf);
  std::fill_n(rows.state.sum, kMaxQueryLanes, 0.0f);
  std::copy_n(state_.max, count_, rows.state.max);
  std::copy_n(state_.sum, count_, rows.state.sum);
  // Some features at a time, whose lanes are in the first-level cache.
  constexpr std::size_t kFeatures = 16;
  for (std::size_t first = 0; !empty_ && first < spec_.shape.Dv;
       first += kFeatures) {
    const std::size_t end = std::min(first + kFeatures, spec_.shape.Dv);
    for (std::size_t n = 0; n < count_; ++n) {
      for (std::size_t c = first; c < end; ++c) {
        rows.context[n * line + c] = context_[c * lanes_ + n];
      }
    }
  }
}

void GroupTile::finish(const GroupRows& rows,
                       const CallTensors& tensors) const {
  const std::size_t line = kernels::whole_lines(spec_.shape.Dv);
  for (std::size_t n = 0; n < count_; ++n) {
    finish_row(
        n, {rows.state.max[n], rows.state.sum[n], rows.context + n * line, 1},
        tensors);
  }
}

void GroupTile::finish_row(std::size_t n, const Row& of,
                           const CallTensors& tensors) const {
  const std::size_t Dv = spec_.shape.Dv;
  const std::size_t h = head_of(n);
  const std::size_t row = place_.first_query + query_of(n);
  const float max = of.max;
  const float sum = of.sum;
  visit_numbers<void>(tensors[CallTensor::output], [&](const auto& output) {
    using T = typename std::decay_t<decltype(output)>::value_type;
    for (std::size_t c = 0; c < Dv; ++c) {
      const float x = of.context[c * of.stride] / sum;
      output(place_.batch, row, h, c) = narrowed<T>(
          sum == 0        ? empty_output(spec_, {b_, h, query_of(n)}, {}, c)
          : std::isnan(x) ? kNaN
                          : x);
    }
  });
  if (tensors.has(CallTensor::lse)) {
    tensors.floats<3>(CallTensor::lse)(place_.batch, h, row) = lse_of(max, sum);
  }
  if (tensors.has(CallTensor::softmax_rows)) {
    const bool is_nan = std::isnan(sum);
    const auto rows = tensors.floats<4>(CallTensor::softmax_rows);
    rows(place_.batch, h, row, 0) = is_nan ? kNaN : max;
    rows(place_.batch, h, row, 1) = is_nan ? kNaN : sum;
  }
}

}  // namespace headwise::inline HEADWISE_ABI
