#include "headwise/inspect/weights_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "attention/one_key.h"
#include "base/check.h"
#include "base/logarithm.h"
#include "base/out_of_memory.h"
#include "inspect/weights_spec.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "weights_statistics";

// Dropout divides the weights that it keeps by 1 - p; here for p up to 0.9.
constexpr float kMostWeight = 10;

Status check_weights(TensorView<const float, 4> weights,
                     const AttentionSpec& spec, std::string_view operation) {
  const auto [B, H, Lq, Lkv] = weights.extents();
  for (std::size_t b = 0; b < B; ++b) {
    const std::size_t queries = spec.statistics.queries(b);
    for (std::size_t row = 0; row < H * queries; ++row) {
      const std::size_t h = row / queries;
      const std::size_t i = row % queries;
      for (std::size_t j = 0; j < Lkv; ++j) {
        const float weight = weights(b, h, i, j);
        if (weight >= 0 && weight <= kMostWeight) {
          continue;
        }
        return value_error(operation,
                           "attn_weights[" + std::to_string(b) + ", " +
                               std::to_string(h) + ", " + std::to_string(i) +
                               ", " + std::to_string(j) + "]",
                           number_text(static_cast<double>(weight)),
                           "a weight from 0 to 1, or to 10 after dropout",
                           ErrorCode::bad_data);
      }
    }
  }
  return ok();
}

double sum_of_row(TensorView<const float, 4> weights, std::size_t b,
                  std::size_t h, std::size_t i) {
  double sum = 0;
  for (std::size_t j = 0; j < weights.extent(3); ++j) {
    sum += static_cast<double>(weights(b, h, i, j));
  }
  return sum;
}

// One head of one sequence.
class HeadOfWeights {
 public:
  HeadOfWeights(TensorView<const float, 4> weights, const AttentionSpec& spec,
                std::size_t b, std::size_t h, const StatisticsViews& to)
      : weights_(weights),
        spec_(spec),
        to_(to),
        b_(b),
        h_(h),
        queries_(spec.statistics.queries(b)),
        keys_(weights.extent(3)) {}

  void run() const {
    const StatisticsOptions& wanted = spec_.statistics.wanted();
    std::vector<double> columns(wanted.columns ? keys_ : 0);
    std::vector<double> cells(wanted.map ? map_size(queries_) * map_size(keys_)
                                         : 0);
    for (std::size_t i = 0; i < weights_.extent(2); ++i) {
      if (wanted.rows) {
        add_row(i);
      }
      if (wanted.top_keys != 0) {
        add_top(i);
      }
      if (i < queries_) {
        add_to_sums(i, columns, cells);
      }
    }
    for (std::size_t j = 0; j < columns.size(); ++j) {
      to_.columns(b_, h_, j) = static_cast<float>(columns[j]);
    }
    store_map(cells);
  }

 private:
  double at(std::size_t i, std::size_t j) const {
    return weights_(b_, h_, i, j);
  }
  // The weight of the key at a position that may be no key's.
  double share(std::size_t i, std::int64_t position) const {
    return position >= 0 && position < static_cast<std::int64_t>(keys_)
               ? at(i, static_cast<std::size_t>(position))
               : 0;
  }

  void add_row(std::size_t i) const {
    std::array<double, kStatistics> row{};
    const auto of = [&](Statistic statistic) -> double& {
      return row[index_of(statistic)];
    };
    const std::int64_t position =
        static_cast<std::int64_t>(i) + spec_.statistics.query_start(b_);
    for (std::size_t j = 0; i < queries_ && j < keys_; ++j) {
      const double w = at(i, j);
      of(Statistic::entropy) -= w > 0 ? w * natural_log(w) : 0;
      of(Statistic::distance) +=
          w * static_cast<double>(
                  std::abs(position - static_cast<std::int64_t>(j)));
      of(Statistic::largest) = std::max(of(Statistic::largest), w);
      of(Statistic::separator) += spec_.statistics.separator(b_, j) ? w : 0;
    }
    if (of(Statistic::largest) == 0) {
      of(Statistic::entropy) = of(Statistic::distance) =
          std::numeric_limits<double>::quiet_NaN();
    } else {
      const auto keys = one_keys(spec_.mask, b_, position);
      for (std::size_t k = 0; k < kOneKeys; ++k) {
        row[index_of(Statistic::first) + k] = share(i, keys[k]);
      }
    }
    for (std::size_t k = 0; k < kStatistics; ++k) {
      to_.rows(b_, h_, i, k) = static_cast<float>(row[k]);
    }
  }

  void add_top(std::size_t i) const {
    const std::size_t count = to_.top_keys.extent(3);
    std::vector<std::size_t> keys(i < queries_ ? keys_ : 0);
    std::iota(keys.begin(), keys.end(), std::size_t{0});
    std::erase_if(keys, [&](std::size_t j) { return at(i, j) == 0; });
    const std::size_t found = std::min(count, keys.size());
    std::partial_sort(
        keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(found),
        keys.end(), [&](std::size_t left, std::size_t right) {
          return at(i, left) != at(i, right) ? at(i, left) > at(i, right)
                                             : left < right;
        });
    for (std::size_t n = 0; n < count; ++n) {
      to_.top_keys(b_, h_, i, n) =
          n < found ? static_cast<std::int64_t>(keys[n]) : -1;
      to_.top_weights(b_, h_, i, n) =
          n < found ? weights_(b_, h_, i, keys[n]) : 0;
    }
  }

  void add_to_sums(std::size_t i, std::vector<double>& columns,
                   std::vector<double>& cells) const {
    const std::size_t r = i * map_size(queries_) / queries_;
    for (std::size_t j = 0; j < keys_; ++j) {
      const double w = at(i, j);
      if (!columns.empty()) {
        columns[j] += w;
      }
      if (!cells.empty()) {
        const std::size_t c = j * map_size(keys_) / keys_;
        cells[r * map_size(keys_) + c] += w;
        float& largest = to_.map_largest(b_, h_, r, c);
        largest = std::max(largest, static_cast<float>(w));
      }
    }
  }

  // The mean of each cell.
  void store_map(const std::vector<double>& cells) const {
    for (std::size_t n = 0; n < cells.size(); ++n) {
      const std::size_t r = n / map_size(keys_);
      const std::size_t c = n % map_size(keys_);
      const std::size_t pairs =
          map_cell_size(r, queries_) * map_cell_size(c, keys_);
      to_.map_mean(b_, h_, r, c) =
          static_cast<float>(cells[n] / static_cast<double>(pairs));
    }
  }

  TensorView<const float, 4> weights_;
  const AttentionSpec& spec_;
  const StatisticsViews& to_;
  std::size_t b_;
  std::size_t h_;
  std::size_t queries_;  // that count
  std::size_t keys_;
};

}  // namespace

Result<AttentionSpec> weights_spec(TensorView<const float, 4> attn_weights,
                                   const AttentionOptions& options,
                                   const OperationOptions& operation_options,
                                   std::string_view operation) {
  const auto [B, H, Lq, Lkv] = attn_weights.extents();
  HEADWISE_ASSIGN(
      auto spec,
      AttentionSpec::create(
          {.B = B, .Hq = H, .Hkv = H, .Lq = Lq, .Lkv = Lkv, .D = 1, .Dv = 1},
          {.mask = options.mask,
           .query_start = options.query_start,
           .executor = options.executor},
          {.statistics = operation_options.statistics}, operation));
  HEADWISE_TRY(check_weights(attn_weights, spec, operation));
  return spec;
}

Result<AttentionStatistics> weights_statistics(
    TensorView<const float, 4> attn_weights, const AttentionSpec& spec) {
  HEADWISE_ASSIGN(auto statistics, AttentionStatistics::create(spec));
  const StatisticsViews views = statistics.views();
  const std::size_t H = attn_weights.extent(1);
  spec.executor->parallel_for(
      attn_weights.extent(0) * H, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t n = begin; n < end; ++n) {
          HeadOfWeights(attn_weights, spec, n / H, n % H, views).run();
        }
      });
  if (spec.statistics.wanted().rows) {
    HEADWISE_ASSIGN(statistics.pooled, pool_statistics(statistics.rows, spec));
  }
  return statistics;
}

Result<AttentionStatistics> weights_statistics(
    TensorView<const float, 4> attn_weights, const AttentionOptions& options,
    const OperationOptions& operation_options) {
  return catching_out_of_memory([&]() -> Result<AttentionStatistics> {
    HEADWISE_ASSIGN(
        const auto spec,
        weights_spec(attn_weights, options, operation_options, kOperation));
    return weights_statistics(attn_weights, spec);
  });
}

UnevenRows uneven_rows(TensorView<const float, 4> attn_weights,
                       TensorView<const std::int64_t, 1> query_lengths) {
  const auto [B, H, Lq, Lkv] = attn_weights.extents();
  UnevenRows found;
  for (std::size_t b = 0; b < B; ++b) {
    const std::size_t queries =
        query_lengths.data() == nullptr
            ? Lq
            : static_cast<std::size_t>(query_lengths(b));
    for (std::size_t row = 0; row < H * queries; ++row) {
      const std::size_t h = row / queries;
      const std::size_t i = row % queries;
      const double sum = sum_of_row(attn_weights, b, h, i);
      if (!(sum > 0)) {
        continue;
      }
      ++found.rows;
      if (std::abs(sum - 1) <= kRowSumTolerance) {
        continue;
      }
      ++found.uneven;
      if (std::abs(sum - 1) > std::abs(found.sum - 1)) {
        found.sum = sum;
        found.sequence = b;
        found.head = h;
        found.query = i;
      }
    }
  }
  return found;
}

}  // namespace headwise::inline HEADWISE_ABI
