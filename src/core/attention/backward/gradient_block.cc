#include "attention/backward/gradient_block.h"

#include <algorithm>
#include <cmath>

#include "attention/empty_row.h"
#include "attention/log2_domain.h"
#include "attention/number_rows.h"
#include "attention/row_gradient.h"
#include "attention/score_terms.h"
#include "kernels/dropout_tile.h"
#include "kernels/score_terms.h"
#include "steps/dropout_tile.h"
#include "steps/mask_tile.h"
#include "steps/t5_tile.h"

namespace headwise::inline HEADWISE_ABI {

using kernels::kKeyBlock;
using kernels::kQueryBlock;
using kernels::row_size;

namespace {

constexpr std::size_t kTileSize = kKeyBlock * kQueryBlock;

// Of T5's bias; 0 without one.
std::size_t buckets_of(const AttentionSpec& spec) {
  return spec.t5_bias.table().extent(0);
}

std::uint64_t low_bits(std::size_t count) {
  return (std::uint64_t{1} << count) - 1;
}

template <class Void>
kernels::NumberRows<Void> query_rows(const TensorArg& tensor,
                                     const SequencePlace& place,
                                     const QueryRange& range,
                                     const GradientBlock::Part& part) {
  return number_rows<Void>(tensor, place.batch,
                           place.first_query + range.first + part.first,
                           range.h, part.queries);
}

}  // namespace

GradientScratch::GradientScratch(const AttentionSpec& spec, Arena& arena)
    : p(arena.take<float>(kTileSize)),
      d_scores(arena.take<float>(kTileSize)),
      slope(arena.take<float>(spec.softcap ? kTileSize : 0)),
      given(arena.take<float>(spec.attn_weights != AttnWeights::none ? kTileSize
                                                                     : 0)),
      diagonals(arena.take<float>(spec.t5_bias.given() ? kernels::kMostDiagonals
                                                       : 0)),
      distance(arena.take<float>(spec.alibi.given() ? kTileSize : 0)),
      output_t(arena.take<float>(spec.shape.Dv, kQueryBlock)),
      key_pairs(arena.take<float>(values_in_pairs(spec) ? kTileSize : 0)),
      query_pairs(arena.take<float>(values_in_pairs(spec) ? kTileSize : 0)),
      allowed(arena.take<kernels::MaskWord>(kernels::kMaxParts, kKeyBlock)),
      read(arena.take<kernels::MaskWord>(kernels::kMaxParts, kKeyBlock)),
      kept(arena.take<kernels::MaskWord>(kKeyBlock)) {}

PackedRows::PackedRows(std::size_t width, bool in_pairs, Arena& arena)
    : columns(width),
      size(row_size(width)),
      rows(arena.take<float>(kQueryBlock, size)),
      pairs(in_pairs ? arena.take<float>(kQueryBlock, size) : nullptr) {}

GradientBlock::GradientBlock(const AttentionSpec& spec,
                             const WantedGradients& wanted, Arena& arena)
    : spec_(spec),
      wanted_(wanted),
      loops_(kernels::attention_tile()),
      gradient_loops_(kernels::gradient_tile()),
      additive_loops_(kernels::additive_tile()),
      layout_(kernels::tile_layout()),
      pairs_(kernels::pair_tile()),
      tile_scores_(spec, arena),
      q_t_(arena.take<float>(packed_key_size(spec), kQueryBlock)),
      d_output_t_(arena.take<float>(spec.shape.Dv, kQueryBlock)),
      d_output_pairs_t_(
          values_in_pairs(spec)
              ? arena.take<float>(packed_value_row(spec), kQueryBlock)
              : nullptr),
      q_(reads_query_rows()
             ? PackedRows(spec.shape.D, keys_in_pairs(spec), arena)
             : PackedRows()),
      d_output_(wanted.values
                    ? PackedRows(spec.shape.Dv, values_in_pairs(spec), arena)
                    : PackedRows()),
      d_query_(wanted.queries
                   ? arena.take<float>(kQueryBlock, row_size(spec.shape.D))
                   : nullptr),
      d_w_(wanted.queries && spec.additive()
               ? arena.take<float>(kQueryBlock, row_size(spec.shape.D))
               : nullptr),
      max_(arena.take<float>(kQueryBlock)),
      reciprocal_(arena.take<float>(kQueryBlock)),
      delta_(arena.take<float>(kQueryBlock)),
      d_slopes_(arena.take<float>(kQueryBlock)),
      d_t5_bias_(arena.take<float>(buckets_of(spec))) {}

std::size_t GradientBlock::parts() const {
  return (range_.count + loops_.query_lanes - 1) / loops_.query_lanes;
}

GradientBlock::Part GradientBlock::part(std::size_t n) const {
  const std::size_t first = n * loops_.query_lanes;
  const std::size_t queries =
      std::min(loops_.query_lanes, range_.count - first);
  const std::size_t vector = loops_.vector_lanes;
  return {first, queries, (queries + vector - 1) / vector * vector};
}

kernels::SavedRows GradientBlock::saved_rows(std::size_t n) const {
  const std::size_t first = part(n).first;
  return {max_ + first, reciprocal_ + first, delta_ + first};
}

void GradientBlock::begin(const QueryRange& range, const CallTensors& tensors,
                          const GradientScratch& own) {
  tensors_ = &tensors;
  const TensorArg& query = tensors[CallTensor::query];
  const TensorArg& d_output = tensors[CallTensor::d_output];
  range_ = range;
  place_ = spec_.shape.sequence(range.b);
  visible_begin_ = spec_.mask.visible_begin(range.b, range.first, range.count);
  visible_end_ = spec_.mask.visible_end(range.b, range.first, range.count);
  load_rows(tensors.read_floats<4>(CallTensor::saved_rows));
  tile_scores_.begin(range.h);
  const std::size_t D = spec_.shape.D;
  const std::size_t Dv = spec_.shape.Dv;
  if (reads_query_rows()) {
    pack(query, q_);
  }
  if (wanted_.values) {
    pack(d_output, d_output_);
  }
  for (std::size_t n = 0; n < parts(); ++n) {
    const Part own_part = part(n);
    const auto pack_values = [&](const TensorArg& tensor, float* to) {
      layout_.pack_queries(
          query_rows<const void>(tensor, place_, range, own_part), Dv, 1,
          own_part.lanes, to);
    };
    float* d_output_t = d_output_t_ + own_part.first * Dv;
    tile_scores_.pack_queries(
        query_rows<const void>(query, place_, range, own_part), own_part.lanes,
        q_t_ + own_part.first * packed_key_size(spec_));
    pack_values(d_output, d_output_t);
    pack_values(tensors[CallTensor::saved_output], own.output_t);
    gradient_loops_.delta(d_output_t, own.output_t, Dv, own_part.lanes,
                          delta_ + own_part.first);
    if (d_output_pairs_t_ != nullptr) {
      pairs_.pair_rows(
          d_output_t, Dv, own_part.lanes,
          d_output_pairs_t_ + own_part.first * packed_value_row(spec_));
    }
  }
  if (d_query_ != nullptr) {
    std::fill_n(d_query_, row_size(D) * kQueryBlock, 0.0f);
  }
  if (d_w_ != nullptr) {
    std::fill_n(d_w_, row_size(D) * kQueryBlock, 0.0f);
  }
  std::fill_n(d_slopes_, kQueryBlock, 0.0f);
  std::fill_n(d_t5_bias_, buckets_of(spec_), 0.0f);
}

void GradientBlock::pack(const TensorArg& tensor, PackedRows& to) const {
  to.finite = layout_.pack_rows(
      query_rows<const void>(tensor, place_, range_, {0, range_.count, 0}),
      to.columns, to.size, to.rows);
  if (to.pairs == nullptr) {
    return;
  }
  float* pairs = to.pairs;
  for (std::size_t n = 0; n < parts(); ++n) {
    const Part own_part = part(n);
    pairs_.pair_rows(to.rows + own_part.first * to.size, own_part.queries,
                     to.size, pairs);
    pairs += kernels::count_pairs(own_part.queries) * to.size;
  }
  to.finite =
      pairs_.finite(to.pairs, static_cast<std::size_t>(pairs - to.pairs));
}

void GradientBlock::resume(const CallTensors& tensors) {
  const auto slopes = tensors.read_floats<3>(CallTensor::state_d_alibi);
  for (std::size_t n = 0; wanted_.slopes && n < range_.count; ++n) {
    d_slopes_[n] =
        slopes(place_.batch, range_.h, place_.first_query + range_.first + n);
  }
  const TensorArg& from = tensors[CallTensor::state_d_query];
  const std::size_t D = spec_.shape.D;
  if (spec_.additive()) {
    layout_.pack_rows(
        query_rows<const void>(from, place_, range_, {0, range_.count, 0}), D,
        row_size(D), d_query_);
    return;
  }
  for (std::size_t n = 0; n < parts(); ++n) {
    const Part own_part = part(n);
    layout_.pack_queries(query_rows<const void>(from, place_, range_, own_part),
                         D, 1, own_part.lanes,
                         d_query_ + own_part.first * kernels::value_columns(D));
  }
}

void GradientBlock::load_rows(TensorView<const float, 4> softmax_rows) {
  const auto d_attn_weights =
      tensors_->read_floats<4>(CallTensor::d_attn_weights);
  left_out_ = 0;
  uniform_ = 0;
  std::fill_n(max_, kQueryBlock, 0.0f);
  std::fill_n(reciprocal_, kQueryBlock, 0.0f);
  for (std::size_t n = 0; n < range_.count; ++n) {
    const std::size_t row = place_.first_query + range_.first + n;
    const float sum = softmax_rows(place_.batch, range_.h, row, 1);
    const std::uint64_t bit = std::uint64_t{1} << n;
    const bool has = visit_numbers<const void>(
        (*tensors_)[CallTensor::d_output], [&](const auto& d_output) {
          return has_gradient(spec_, d_output, d_attn_weights, range_.b,
                              range_.h, range_.first + n);
        });
    if (!has) {
      left_out_ |= bit;
      continue;
    }
    if (sum == 0) {
      left_out_ |= bit;
      uniform_ |= spec_.empty_rows == EmptyRow::uniform ? bit : 0;
      continue;
    }
    max_[n] = softmax_rows(place_.batch, range_.h, row, 0);
    reciprocal_[n] = 1 / sum;
  }
}

Tile GradientBlock::tile_of(const GradientHead& head, std::size_t block) const {
  const std::size_t first = head.first_key(block);
  const std::size_t count = head.count(block);
  if (head.is_added(block)) {
    return {range_.b, range_.h, range_.first, range_.count, first, count};
  }
  const std::size_t end = std::min(first + count, visible_end_);
  const bool seen = end > first && end > visible_begin_;
  const std::size_t keys = uniform_ != 0 ? count : seen ? end - first : 0;
  return {range_.b, range_.h, range_.first, range_.count, first, keys};
}

TileKind GradientBlock::kind_of(const GradientHead& head, std::size_t block,
                                const Tile& tile) const {
  return tile.keys == 0         ? TileKind::empty
         : head.is_added(block) ? TileKind::full
                                : classify(spec_.mask, tile);
}

Tile GradientBlock::tile_of(const Tile& tile, const Part& part) {
  return {tile.b,       tile.h,         tile.first_query + part.first,
          part.queries, tile.first_key, tile.keys};
}

void GradientBlock::score(const GradientHead& head, std::size_t block,
                          const Tile& tile, std::size_t n,
                          const GradientScratch& own) const {
  const Part own_part = part(n);
  const std::size_t at = own_part.first * kKeyBlock;
  tile_scores_.compute(q_t_ + own_part.first * packed_key_size(spec_),
                       head.keys(block), tile.keys, own_part.queries,
                       own_part.lanes, own.p + at);
  float* const slope = spec_.softcap ? own.slope + at : nullptr;
  if (head.is_added(block)) {
    apply_softcap(spec_, tile.keys, own_part.lanes, own.p + at, slope);
  } else {
    apply_score_terms(spec_, tile, own_part.lanes, own.p + at, slope);
  }
}

void GradientBlock::fill_words(const Tile& tile, TileKind kind, std::size_t n,
                               std::uint64_t uniform_rows,
                               const GradientScratch& own) const {
  const Part own_part = part(n);
  const std::uint64_t all = low_bits(own_part.queries);
  const std::uint64_t left_out = (left_out_ >> own_part.first) & all;
  const std::uint64_t uniform = (uniform_rows >> own_part.first) & all;
  kernels::MaskWord* allowed = own.allowed + n * kKeyBlock;
  kernels::MaskWord* read = own.read + n * kKeyBlock;
  if (kind == TileKind::partial) {
    headwise::fill_words(spec_.mask, tile, {allowed, tile.keys});
  } else {
    std::fill_n(allowed, tile.keys, kind == TileKind::full ? all : 0);
  }
  for (std::size_t k = 0; k < tile.keys; ++k) {
    allowed[k] &= ~left_out;
    read[k] = allowed[k] | uniform;
  }
}

void GradientBlock::load_given(const Tile& tile, std::size_t n, bool masked,
                               const GradientScratch& own) const {
  const auto all = tensors_->read_floats<4>(CallTensor::d_attn_weights);
  const bool mean = spec_.attn_weights == AttnWeights::mean;
  const Part own_part = part(n);
  const auto factor =
      static_cast<float>(mean ? 1 / static_cast<double>(spec_.shape.Hq) : 1.0);
  layout_.pack_queries(
      kernels::Rows<const float>{
          &all(tile.b, mean ? 0 : tile.h, tile.first_query,
               spec_.added_keys.column(tile.first_key, spec_.shape.Lkv)),
          tile.queries, all.stride(2), all.stride(3)},
      tile.keys, factor, own_part.lanes, own.given);
  const kernels::DropoutTile& dropout = kernels::dropout_tile();
  if (spec_.attn_weights == AttnWeights::after_dropout &&
      spec_.dropout.active()) {
    headwise::fill_words(spec_.dropout, tile, {own.kept, tile.keys});
    dropout.drop(own.kept, static_cast<float>(spec_.dropout.factor()),
                 tile.keys, own_part.lanes, own.given);
  }
  if (masked) {
    dropout.drop(own.allowed + n * kKeyBlock, 1, tile.keys, own_part.lanes,
                 own.given);
  }
}

void GradientBlock::add_given(const GradientHead& head,
                              const GradientScratch& own) {
  for (std::size_t block = 0; block < head.all_blocks(); ++block) {
    const Tile whole = tile_of(head, block);
    const TileKind kind = kind_of(head, block, whole);
    const bool masked = kind != TileKind::full || left_out_ != 0;
    for (std::size_t n = 0; kind != TileKind::empty && n < parts(); ++n) {
      const Part own_part = part(n);
      const Tile tile = tile_of(whole, own_part);
      const std::size_t at = own_part.first * kKeyBlock;
      fill_words(tile, kind, n, uniform_, own);
      score(head, block, tile, n, own);
      std::fill_n(own.d_scores + at, tile.keys * own_part.lanes, 0.0f);
      gradient_loops_.softmax_gradient(
          saved_rows(n), masked ? own.allowed + n * kKeyBlock : nullptr,
          {nullptr, 1}, nullptr, tile.keys, own_part.lanes, own.p + at,
          own.d_scores + at);
      load_given(tile, n, masked, own);
      gradient_loops_.add_chain(own.p + at, own.given, tile.keys,
                                own_part.lanes, delta_ + own_part.first);
    }
  }
}

void GradientBlock::weights_gradient(const GradientHead& head,
                                     std::size_t block, const Tile& tile,
                                     const Part& own_part,
                                     float* d_scores) const {
  const std::size_t Dv = spec_.shape.Dv;
  if (d_output_pairs_t_ != nullptr) {
    pairs_.score(d_output_pairs_t_ + own_part.first * packed_value_row(spec_),
                 head.values(block), tile.keys, Dv, own_part.queries, 1,
                 d_scores);
  } else {
    loops_.score(d_output_t_ + own_part.first * Dv, head.values(block), Dv,
                 tile.keys, Dv, own_part.queries, d_scores);
  }
}

void GradientBlock::differentiate_part(const GradientHead& head,
                                       std::size_t block, const Tile& tile,
                                       std::size_t n, bool masked,
                                       const GradientScratch& own) {
  const Part own_part = part(n);
  const std::size_t at = own_part.first * kKeyBlock;
  score(head, block, tile, n, own);
  weights_gradient(head, block, tile, own_part, own.d_scores + at);
  const bool given = tensors_->has(CallTensor::d_attn_weights);
  if (given) {
    load_given(tile, n, masked, own);
  }
  kernels::DroppedTile dropped{nullptr, 1};
  if (spec_.dropout.active()) {
    headwise::fill_words(spec_.dropout, tile, {own.kept, tile.keys});
    dropped = {own.kept, static_cast<float>(spec_.dropout.factor())};
  }
  gradient_loops_.softmax_gradient(
      saved_rows(n), masked ? own.allowed + n * kKeyBlock : nullptr, dropped,
      given ? own.given : nullptr, tile.keys, own_part.lanes, own.p + at,
      own.d_scores + at);
}

void GradientBlock::set_uniform_rows(const Tile& tile, std::size_t n,
                                     const GradientScratch& own) const {
  const Part own_part = part(n);
  float* p = own.p + own_part.first * kKeyBlock;
  const auto keys = static_cast<float>(place_.Lkv);
  for (std::size_t row = 0; row < own_part.queries; ++row) {
    if ((uniform_ >> (own_part.first + row) & 1) == 0) {
      continue;
    }
    const RowIndex index{tile.b, tile.h, tile.first_query + row};
    for (std::size_t k = 0; k < tile.keys; ++k) {
      p[k * own_part.lanes + row] =
          uniform_share(spec_, index, tile.first_key + k) / keys;
    }
  }
}

GradientBlock::Gradients GradientBlock::differentiate(
    const GradientHead& head, std::size_t block, const GradientScratch& own) {
  const Tile whole = tile_of(head, block);
  const TileKind kind = kind_of(head, block, whole);
  const bool all_left_out = left_out_ == low_bits(range_.count);
  // A uniform row has no share of an added key.
  const std::uint64_t uniform = head.is_added(block) ? 0 : uniform_;
  if ((kind == TileKind::empty || all_left_out) && uniform == 0) {
    return {};
  }
  const bool masked = kind != TileKind::full || left_out_ != 0;
  for (std::size_t n = 0; n < parts(); ++n) {
    const Part own_part = part(n);
    const Tile tile = tile_of(whole, own_part);
    const std::size_t at = own_part.first * kKeyBlock;
    if (masked) {
      fill_words(tile, kind, n, uniform, own);
    }
    if (kind == TileKind::empty) {
      std::fill_n(own.p + at, tile.keys * own_part.lanes, 0.0f);
      std::fill_n(own.d_scores + at, tile.keys * own_part.lanes, 0.0f);
    } else {
      differentiate_part(head, block, tile, n, masked, own);
    }
    if (uniform != 0) {
      set_uniform_rows(tile, n, own);
    }
  }
  return {whole, kind != TileKind::empty, masked};
}

void GradientBlock::add_slopes(const Tile& tile, std::size_t n,
                               const GradientScratch& own) {
  const Part own_part = part(n);
  const std::int64_t offset =
      spec_.alibi.offset(tile.b, tile.first_query, tile.first_key);
  std::fill_n(own.distance, tile.keys * own_part.lanes, 0.0f);
  kernels::score_terms().add_alibi(1, offset, tile.keys, own_part.lanes,
                                   own.distance);
  gradient_loops_.add_chain(own.d_scores + own_part.first * kKeyBlock,
                            own.distance, tile.keys, own_part.lanes,
                            d_slopes_ + own_part.first);
}

void GradientBlock::add_t5_bias(const Tile& tile, const GradientScratch& own) {
  const std::span<float> diagonals(own.diagonals, tile.keys + tile.queries - 1);
  std::fill_n(own.diagonals, kernels::kMostDiagonals, 0.0f);
  for (std::size_t n = 0; n < parts(); ++n) {
    const Part own_part = part(n);
    kernels::score_terms().sum_diagonals(
        own.d_scores + own_part.first * kKeyBlock, tile.keys, own_part.queries,
        own_part.lanes, own.diagonals + own_part.first);
  }
  add_to_buckets(spec_.t5_bias, tile, diagonals,
                 {d_t5_bias_, buckets_of(spec_)});
}

void GradientBlock::take(const GradientHead& head, std::size_t block,
                         const GradientScratch& own) {
  if (!wanted_.any_of_pairs()) {
    return;
  }
  const Gradients found = differentiate(head, block, own);
  const std::size_t keys = found.tile.keys;
  if (keys == 0) {
    return;
  }
  const bool has_bias = !head.is_added(block);
  if (wanted_.t5_bias && has_bias) {
    add_t5_bias(found.tile, own);
  }
  kernels::QueryPart weights[kernels::kMaxParts];
  for (std::size_t n = 0; n < parts(); ++n) {
    const Part own_part = part(n);
    const Tile tile = tile_of(found.tile, own_part);
    const std::size_t at = own_part.first * kKeyBlock;
    if (wanted_.slopes && has_bias) {
      add_slopes(tile, n, own);
    }
    if (spec_.softcap && found.scores) {
      gradient_loops_.multiply(own.slope + at, keys, own_part.lanes,
                               own.d_scores + at);
      if (found.masked) {
        // A masked score's slope may be NaN.
        kernels::dropout_tile().drop(own.allowed + n * kKeyBlock, 1, keys,
                                     own_part.lanes, own.d_scores + at);
      }
    }
    const bool all = d_output_.finite || !found.masked;
    weights[n] = {own.p + at, own_part.lanes, own_part.queries,
                  all ? nullptr : own.read + n * kKeyBlock};
  }
  if (wanted_.values) {
    add_to_keys({weights, parts()}, keys, d_output_, own, head.d_values(block));
  }
  if (found.scores) {
    add_operands(head, block, found, own);
  }
}

void GradientBlock::add_to_query(const GradientHead& head, std::size_t block,
                                 std::size_t keys, kernels::MaskWord* allowed,
                                 bool masked, const Part& own_part,
                                 const GradientScratch& own) const {
  const std::size_t D8 = kernels::value_columns(spec_.shape.D);
  const float* d_scores = own.d_scores + own_part.first * kKeyBlock;
  float* d_query = d_query_ + own_part.first * D8;
  const std::size_t rows = head.count(block);
  if (!keys_in_pairs(spec_)) {
    gradient_loops_.add_keys(d_scores, head.key_panels(block), rows,
                             head.finite(block) || !masked ? nullptr : allowed,
                             keys, D8, own_part.queries, d_query);
    return;
  }
  // The key behind an odd number of them is not read.
  const bool cut = keys % 2 != 0 && keys < rows;
  const bool select = !head.finite(block) && (masked || cut);
  if (select && !masked) {
    std::fill_n(allowed, keys, ~kernels::MaskWord{0});
  }
  if (select && keys % 2 != 0) {
    allowed[keys] = 0;
  }
  pairs_.pair_rows(d_scores, keys, own_part.lanes, own.key_pairs);
  pairs_.add_keys(own.key_pairs, head.key_panels(block), rows,
                  select ? allowed : nullptr, keys, D8, own_part.queries,
                  d_query);
}

void GradientBlock::add_to_keys(std::span<kernels::QueryPart> parts,
                                std::size_t keys, const PackedRows& rows,
                                const GradientScratch& own, float* sums) const {
  if (rows.pairs == nullptr) {
    gradient_loops_.add_queries(parts.data(), parts.size(), keys, rows.rows,
                                rows.size, sums);
    return;
  }
  float* to = own.query_pairs;
  for (kernels::QueryPart& part : parts) {
    pairs_.pack_keys(
        kernels::Rows<const float>{part.p, keys,
                                   static_cast<std::ptrdiff_t>(part.lanes), 1},
        part.queries, to);
    part.p = to;
    part.lanes = kernels::count_pairs(part.queries);
    to += keys * part.lanes;
  }
  pairs_.add_queries(parts.data(), parts.size(), keys, rows.pairs, rows.size,
                     sums);
}

void GradientBlock::add_operands(const GradientHead& head, std::size_t block,
                                 const Gradients& found,
                                 const GradientScratch& own) {
  const std::size_t keys = found.tile.keys;
  const std::size_t D = spec_.shape.D;
  kernels::QueryPart scores[kernels::kMaxParts];
  for (std::size_t n = 0; n < parts(); ++n) {
    const Part own_part = part(n);
    kernels::MaskWord* allowed = own.allowed + n * kKeyBlock;
    if (wanted_.queries && !spec_.additive()) {
      add_to_query(head, block, keys, allowed, found.masked, own_part, own);
    }
    // A masked product with a finite query is 0; a tangent that is not read
    // need not be computed.
    const bool all = !found.masked || (q_.finite && !spec_.additive());
    scores[n] = {own.d_scores + own_part.first * kKeyBlock, own_part.lanes,
                 own_part.queries, all ? nullptr : allowed};
  }
  if (spec_.additive() && reads_query_rows()) {
    additive_loops_.add_gradients(
        {head.keys(block), keys, D, tile_scores_.score_weight(), q_.rows,
         scores, parts()},
        {wanted_.keys ? head.d_keys(block) : nullptr, d_query_, d_w_});
  } else if (wanted_.keys) {
    add_to_keys({scores, parts()}, keys, q_, own, head.d_keys(block));
  }
}

void GradientBlock::finish(const CallTensors& tensors,
                           const BlockShares& shares) const {
  if (tensors.has(CallTensor::d_query)) {
    store_query(tensors[CallTensor::d_query], static_cast<float>(spec_.scale));
  }
  if (shares.slopes.data() != nullptr) {
    store_slopes(shares.slopes);
  }
  if (shares.t5_bias.data() != nullptr) {
    store_t5_bias(shares.t5_bias);
  }
  if (shares.score_weight.data() != nullptr) {
    store_score_weight(shares.score_weight);
  }
  if (shares.sinks.data() != nullptr) {
    store_sinks(shares.sinks);
  }
}

void GradientBlock::save(const CallTensors& tensors) const {
  store_query(tensors[CallTensor::state_d_query], 1);
  if (wanted_.slopes) {
    store_slopes(tensors.floats<3>(CallTensor::state_d_alibi));
  }
}

void GradientBlock::store_slopes(TensorView<float, 3> slopes) const {
  for (std::size_t n = 0; n < range_.count; ++n) {
    slopes(place_.batch, range_.h, place_.first_query + range_.first + n) =
        std::isnan(d_slopes_[n]) ? kNaN : d_slopes_[n];
  }
}

void GradientBlock::store_query(const TensorArg& to, float scale) const {
  const std::size_t D = spec_.shape.D;
  if (spec_.additive()) {
    layout_.store_rows(
        d_query_, scale, D, row_size(D),
        query_rows<void>(to, place_, range_, {0, range_.count, 0}));
    return;
  }
  for (std::size_t n = 0; n < parts(); ++n) {
    const Part own_part = part(n);
    layout_.store_scaled(d_query_ + own_part.first * kernels::value_columns(D),
                         scale, D, own_part.lanes,
                         query_rows<void>(to, place_, range_, own_part));
  }
}

std::size_t GradientBlock::share() const {
  return first_share_block(spec_.shape, range_.b) + range_.first / kQueryBlock;
}

void GradientBlock::store_t5_bias(TensorView<float, 4> t5_bias) const {
  std::copy_n(d_t5_bias_, buckets_of(spec_),
              &t5_bias(place_.batch, range_.h, share(), 0));
}

// A sink has no value, so the gradient of its weight is 0.
void GradientBlock::store_sinks(TensorView<float, 3> sinks) const {
  using kernels::kMaxQueryLanes;
  const auto sink = times_log2e(static_cast<double>(spec_.sinks.of(range_.h)));
  for (std::size_t n = 0; n < parts(); ++n) {
    const Part own_part = part(n);
    alignas(64) float p[kMaxQueryLanes];
    alignas(64) float d_sink[kMaxQueryLanes] = {};
    std::fill_n(p, own_part.lanes, sink);
    const kernels::MaskWord taken = ~left_out_ >> own_part.first;
    gradient_loops_.softmax_gradient(saved_rows(n), &taken, {nullptr, 1},
                                     nullptr, 1, own_part.lanes, p, d_sink);
    const std::size_t first =
        place_.first_query + range_.first + own_part.first;
    for (std::size_t row = 0; row < own_part.queries; ++row) {
      sinks(place_.batch, range_.h, first + row) =
          !spec_.sinks.has(range_.h) ? 0
          : std::isnan(d_sink[row])  ? kNaN
                                     : d_sink[row];
    }
  }
}

void GradientBlock::store_score_weight(
    TensorView<float, 4> score_weight) const {
  for (std::size_t c = 0; c < spec_.shape.D; ++c) {
    float sum = 0;
    for (std::size_t n = 0; n < range_.count; ++n) {
      sum += d_w_[n * row_size(spec_.shape.D) + c];
    }
    score_weight(place_.batch, range_.h, share(), c) = sum;
  }
}

}  // namespace headwise::inline HEADWISE_ABI
