#include "attention/forward/tile_statistics.h"

#include <algorithm>
#include <cmath>

#include "attention/log2_domain.h"
#include "attention/log2_sum.h"
#include "steps/one_nan.h"

namespace headwise::inline HEADWISE_ABI {

using kernels::kKeyBlock;
using kernels::kMaxQueryLanes;

RowsTogether::RowsTogether(const AttentionSpec& spec, Arena& arena) {
  const StatisticsOptions& wanted = spec.statistics.wanted();
  const AttentionShape& shape = spec.shape;
  column_sums_ = wanted.columns ? kernels::column_sums_size(shape.Lkv) : 0;
  map_rows_ = wanted.map ? map_size(shape.Lq) : 0;
  map_cells_ = map_rows_ * map_size(shape.Lkv);
  columns = arena.take<float>(column_sums_);
  map_sum = arena.take<float>(map_cells_);
  map_largest = arena.take<float>(map_cells_);
  map_rows = arena.take<std::int64_t>(map_rows_);
}

void RowsTogether::clear() const {
  std::fill_n(columns, column_sums_, 0.0f);
  std::fill_n(map_sum, map_cells_, 0.0f);
  std::fill_n(map_largest, map_cells_, 0.0f);
  std::fill_n(map_rows, map_rows_, 0);
}

TileStatistics::TileStatistics(const AttentionSpec& spec, Arena& arena)
    : spec_(spec),
      wanted_(spec.statistics.wanted()),
      loops_(kernels::statistics_tile()) {
  const auto lanes = [&] { return arena.take<float>(kMaxQueryLanes); };
  position_ = lanes();
  keys_ = {lanes(), lanes()};
  sums_ = {lanes(), lanes(), lanes()};
  block_ = {lanes(), lanes(), lanes()};
  for (OneKey& one : one_key_) {
    one = {lanes(), lanes()};
  }
  top_ = {wanted_.top_keys, arena.take<float>(wanted_.top_keys, kMaxQueryLanes),
          arena.take<std::int32_t>(wanted_.top_keys, kMaxQueryLanes)};
  const std::size_t cells = wanted_.map ? map_size(spec.shape.Lkv) : 0;
  for (float** const of_cells : {&cell_sum_, &cell_largest_, &cell_max_}) {
    *of_cells = arena.take<float>(cells, kMaxQueryLanes);
  }
}

void TileStatistics::begin(std::size_t b, std::size_t first, std::size_t count,
                           std::size_t lanes) {
  place_ = spec_.shape.sequence(b);
  b_ = b;
  first_ = first;
  count_ = count;
  lanes_ = lanes;
  const std::int64_t start = spec_.statistics.query_start(b);
  for (std::size_t n = 0; n < lanes; ++n) {
    position_[n] =
        static_cast<float>(start + static_cast<std::int64_t>(first + n));
  }
  for (float* const sum :
       {sums_.entropy, sums_.distance, sums_.separator, block_.separator}) {
    std::fill_n(sum, lanes, 0.0f);
  }
  for (const OneKey& one : one_key_) {
    std::fill_n(one.p, lanes, 0.0f);
    std::fill_n(one.max, lanes, kMinusInf);
  }
  for (std::size_t r = 0; r < top_.count; ++r) {
    float* const scores = top_.scores + r * kMaxQueryLanes;
    std::fill_n(scores, count, kMinusInf);
    std::fill_n(scores + count, lanes - count, -kMinusInf);
    std::fill_n(top_.keys + r * kMaxQueryLanes, lanes, -1);
  }
  cells_taken_ = 0;
  const std::size_t cells = wanted_.map ? map_size(place_.Lkv) * lanes : 0;
  std::fill_n(cell_sum_, cells, 0.0f);
  std::fill_n(cell_largest_, cells, 0.0f);
  std::fill_n(cell_max_, cells, kMinusInf);
}

void TileStatistics::softmax(std::size_t first_key, std::size_t keys,
                             float* scores, float* max, float* sum) const {
  loops_.softmax(keys, lanes_, position_, first_key, scores, max, sum,
                 wanted_.rows ? block_ : kernels::RowSums{}, top_);
}

void TileStatistics::take(std::size_t first_key, std::size_t keys,
                          const float* p, const kernels::Fold& fold) {
  if (wanted_.rows) {
    take_one_keys(first_key, keys, p, fold);
    take_separators(first_key, keys, p);
    loops_.fold(lanes_, fold, block_, sums_);
  }
  if (wanted_.map) {
    take_cells(first_key, keys, p, fold);
  }
}

void TileStatistics::end_keys(const kernels::RowState& state) {
  std::copy_n(state.max, lanes_, keys_.max);
  std::copy_n(state.sum, lanes_, keys_.sum);
}

// One more outcome of the row's entropy, at no distance. Its own p * (s - max)
// is 0.
void TileStatistics::take_outcome(const kernels::Fold& fold) {
  if (!wanted_.rows) {
    return;
  }
  for (float* const sum : {block_.entropy, block_.distance, block_.separator}) {
    std::fill_n(sum, lanes_, 0.0f);
  }
  loops_.fold(lanes_, fold, block_, sums_);
}

void TileStatistics::take_one_keys(std::size_t first_key, std::size_t keys,
                                   const float* p, const kernels::Fold& fold) {
  const auto begin = static_cast<std::int64_t>(first_key);
  const auto end = static_cast<std::int64_t>(first_key + keys);
  const std::int64_t position =
      spec_.statistics.query_start(b_) + static_cast<std::int64_t>(first_);
  // They move with the position or stay: those of a tile are between these.
  const auto from = one_keys(spec_.mask, b_, position);
  const auto to = one_keys(spec_.mask, b_,
                           position + static_cast<std::int64_t>(count_) - 1);
  for (std::size_t one = 0; one < kOneKeys; ++one) {
    if (to[one] < begin || from[one] >= end) {
      continue;
    }
    const std::int64_t step = from[one] == to[one] ? 0 : 1;
    for (std::size_t n = 0; n < count_; ++n) {
      const std::int64_t key = from[one] + step * static_cast<std::int64_t>(n);
      if (key >= begin && key < end) {
        one_key_[one].p[n] =
            p[static_cast<std::size_t>(key - begin) * lanes_ + n];
        one_key_[one].max[n] = fold.block_max[n];
      }
    }
  }
}

void TileStatistics::take_separators(std::size_t first_key, std::size_t keys,
                                     const float* p) {
  if (wanted_.separators.data() == nullptr) {
    return;
  }
  std::array<std::uint8_t, kKeyBlock> found{};
  std::size_t count = 0;
  for (std::size_t k = 0; k < keys; ++k) {
    if (spec_.statistics.separator(b_, first_key + k)) {
      found[count++] = static_cast<std::uint8_t>(k);
    }
  }
  loops_.sum_keys(found.data(), count, lanes_, p, block_.separator);
}

void TileStatistics::take_cells(std::size_t first_key, std::size_t keys,
                                const float* p, const kernels::Fold& fold) {
  const std::size_t Lkv = place_.Lkv;
  const std::size_t cells = map_size(Lkv);
  const std::size_t end_key = first_key + keys;
  // The first key of a cell; those of a cell c have key * cells / Lkv = c.
  const auto first_of = [&](std::size_t c) {
    return (c * Lkv + cells - 1) / cells;
  };
  for (std::size_t c = first_key * cells / Lkv;
       c < cells && first_of(c) < end_key; ++c) {
    const std::size_t begin = std::max(first_of(c), first_key) - first_key;
    const std::size_t end = std::min(first_of(c + 1), end_key) - first_key;
    const std::size_t at = c * lanes_;
    const kernels::RowState state{cell_max_ + at, cell_sum_ + at};
    if (c >= cells_taken_) {
      loops_.cell(begin, end, lanes_, p, {state.sum, cell_largest_ + at});
      std::copy_n(fold.block_max, lanes_, state.max);
      continue;
    }
    alignas(64) float sum[kMaxQueryLanes];
    alignas(64) float largest[kMaxQueryLanes];
    loops_.cell(begin, end, lanes_, p, {sum, largest});
    loops_.join_cell(lanes_, {fold.block_max, sum, state, false}, largest,
                     cell_largest_ + at);
  }
  cells_taken_ = (end_key - 1) * cells / Lkv + 1;
}

std::uint64_t TileStatistics::below_query_lengths() const {
  const std::size_t queries = spec_.statistics.queries(b_);
  const std::size_t live =
      std::min(queries - std::min(queries, first_), count_);
  return live == 0 ? 0 : ~std::uint64_t{0} >> (64 - live);
}

std::uint64_t TileStatistics::counted() const {
  std::uint64_t rows = below_query_lengths();
  for (std::size_t n = 0; n < count_; ++n) {
    if (keys_.sum[n] == 0 || std::isnan(keys_.sum[n])) {
      rows &= ~(std::uint64_t{1} << n);
    }
  }
  return rows;
}

std::uint64_t TileStatistics::not_numbers() const {
  std::uint64_t rows = 0;
  for (std::size_t n = 0; n < count_; ++n) {
    rows |= std::uint64_t{std::isnan(keys_.sum[n])} << n;
  }
  return rows & below_query_lengths();
}

void TileStatistics::finish(std::size_t h, const kernels::RowState& state,
                            const StatisticsViews& to) const {
  const std::size_t row = place_.first_query + first_;
  if (to.rows.data() != nullptr) {
    finish_rows(h, row, state, to.rows);
  }
  if (to.top_keys.data() != nullptr) {
    finish_top_keys(h, row, state, to);
  }
}

void TileStatistics::finish_top_keys(std::size_t h, std::size_t row,
                                     const kernels::RowState& state,
                                     const StatisticsViews& to) const {
  alignas(64) float one[kMaxQueryLanes];
  alignas(64) float weight[kMaxQueryLanes];
  std::fill_n(one, lanes_, 1.0f);
  for (std::size_t r = 0; r < top_.count; ++r) {
    const std::size_t at = r * kMaxQueryLanes;
    loops_.weights(lanes_, one, top_.scores + at, state, weight);
    for (std::size_t n = 0; n < count_; ++n) {
      const std::int32_t key = top_.keys[at + n];
      to.top_keys(place_.batch, h, row + n, r) = key;
      to.top_weights(place_.batch, h, row + n, r) =
          key < 0 ? 0 : one_nan(weight[n]);
    }
  }
}

void TileStatistics::finish_rows(std::size_t h, std::size_t row,
                                 const kernels::RowState& state,
                                 TensorView<float, 4> to) const {
  alignas(64) float one_key[kOneKeys][kMaxQueryLanes];
  alignas(64) float largest[kMaxQueryLanes];
  std::fill_n(largest, lanes_, 1.0f);
  loops_.weights(lanes_, largest, keys_.max, state, largest);
  for (std::size_t k = 0; k < one_key_.size(); ++k) {
    loops_.weights(lanes_, one_key_[k].p, one_key_[k].max, state, one_key[k]);
  }
  for (std::size_t n = 0; n < count_; ++n) {
    const auto put = [&](Statistic statistic, float value) {
      to(place_.batch, h, row + n, index_of(statistic)) = one_nan(value);
    };
    const float sum = state.sum[n];
    const bool empty = keys_.sum[n] == 0;
    const float entropy = kLn2 * (log2_sum(sum) - sums_.entropy[n] / sum);
    put(Statistic::entropy, empty ? kNaN : entropy < 0 ? 0 : entropy);
    put(Statistic::distance, empty ? kNaN : sums_.distance[n] / sum);
    put(Statistic::largest, empty ? 0 : largest[n]);
    for (std::size_t k = 0; k < one_key_.size(); ++k) {
      to(place_.batch, h, row + n, index_of(Statistic::first) + k) =
          empty ? 0 : one_nan(one_key[k][n]);
    }
    put(Statistic::separator, empty ? 0 : sums_.separator[n] / sum);
  }
}

std::size_t TileStatistics::map_row(std::size_t n) const {
  const std::size_t queries = spec_.statistics.queries(b_);
  return (first_ + n) * map_size(queries) / queries;
}

void TileStatistics::add_to_map(const kernels::RowState& state,
                                const RowsTogether& together) const {
  const std::uint64_t numbers = counted();
  const std::uint64_t nans = not_numbers();
  const std::size_t cells = map_size(place_.Lkv);
  const auto in = [](std::uint64_t rows, std::size_t n) {
    return (rows >> n & 1) != 0;
  };
  // Where each row's line of cells begins.
  std::array<std::size_t, kMaxQueryLanes> line{};
  for (std::size_t n = 0; n < count_; ++n) {
    if (in(numbers | nans, n)) {
      ++together.map_rows[map_row(n)];
      line[n] = map_row(n) * cells;
    }
  }
  alignas(64) float sum[kMaxQueryLanes];
  alignas(64) float largest[kMaxQueryLanes];
  for (std::size_t c = 0; c < cells; ++c) {
    const std::size_t at = c * lanes_;
    loops_.weights(lanes_, cell_sum_ + at, cell_max_ + at, state, sum);
    loops_.weights(lanes_, cell_largest_ + at, cell_max_ + at, state, largest);
    for (std::size_t n = 0; n < count_; ++n) {
      if (in(numbers | nans, n)) {
        const std::size_t cell = line[n] + c;
        together.map_sum[cell] += in(nans, n) ? kNaN : sum[n];
        float& most = together.map_largest[cell];
        most = in(nans, n) ? kNaN : most < largest[n] ? largest[n] : most;
      }
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI
