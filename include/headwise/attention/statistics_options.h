// Which statistics a call of attention gives (statistics.h says what they are),
// and where they go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/query_start.h"
#include "headwise/steps/shape.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

enum class Statistic {
  entropy,
  distance,
  largest,
  first,
  previous,
  self,
  next,
  separator,
};
inline constexpr std::size_t kStatistics = 8;

constexpr std::size_t index_of(Statistic statistic) {
  return static_cast<std::size_t>(statistic);
}
std::string_view name_of(Statistic statistic);

// Cells of a map along an axis of so many queries or keys: query i is in cell
// i * map_size(Lq) / Lq. In a ragged batch, and below query_lengths, those of
// the sequence; the cells behind them are 0.
inline constexpr std::size_t kMostMapCells = 64;
constexpr std::size_t map_size(std::size_t length) {
  return std::min(length, kMostMapCells);
}
// The queries or keys of a cell.
constexpr std::size_t map_cell_size(std::size_t cell, std::size_t length) {
  const std::size_t cells = map_size(length);
  return ((cell + 1) * length + cells - 1) / cells -
         (cell * length + cells - 1) / cells;
}

struct StatisticsOptions {
  bool rows = false;         // the eight of each row
  std::size_t top_keys = 0;  // so many keys of each row, the largest weight
                             // first, the lowest key among equals; at most 64
  bool columns = false;      // what each key receives: the sum over the rows
  bool map = false;          // the matrix in cells, their mean and largest
  // (B, Lkv), true = a separator, such as [SEP]; no view: there is none.
  TensorView<const bool, 2> separators{};
  // (B): queries from there on are padding, and are in no column, map or mean;
  // no view: there is none.
  TensorView<const std::int64_t, 1> query_lengths{};

  bool any() const { return rows || top_keys != 0 || columns || map; }
};

// No view: not wanted, though it was asked for.
struct StatisticsViews {
  TensorView<float, 4> rows{};
  TensorView<std::int64_t, 4> top_keys{};
  TensorView<float, 4> top_weights{};
  TensorView<float, 3> columns{};
  TensorView<float, 4> map_mean{};
  TensorView<float, 4> map_largest{};
};

// Options that were checked against the sizes of a call.
class BoundStatistics {
 public:
  BoundStatistics() = default;  // none
  // Errors: shape_mismatch; out_of_range for a query length beyond the queries
  // or below 0; invalid_argument for more than 64 top keys. `operation` begins
  // the message.
  static Result<BoundStatistics> bind(const StatisticsOptions& options,
                                      const AttentionShape& shape,
                                      const QueryStart& query_start,
                                      std::string_view operation);

  const StatisticsOptions& wanted() const { return options_; }
  // Errors: shape_mismatch for a view that does not fit.
  Status check_views(const StatisticsViews& views) const;
  bool any() const { return options_.any(); }
  // Where query 0 of sequence b stands among the keys.
  std::int64_t query_start(std::size_t b) const {
    return query_start_.of(b, shape_);
  }
  // The queries of sequence b that count.
  std::size_t queries(std::size_t b) const;
  bool separator(std::size_t b, std::size_t j) const {
    return options_.separators.data() != nullptr && options_.separators(b, j);
  }

 private:
  StatisticsOptions options_;
  QueryStart query_start_;
  AttentionShape shape_{};
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
