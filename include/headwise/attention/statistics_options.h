// Which statistics a call of attention computes (statistics.h defines them),
// and where they go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/query_start.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Of a row (attention/statistics.h).
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
struct StatisticRow {
  std::string_view name;
  // If it is the share of one key that moves with the query: how far that is
  // from the query's own (src/core/attention/one_key.h).
  std::optional<int> offset{};
};
// In the order of the enum.
inline constexpr StatisticRow kStatisticRows[] = {
    {"entropy"},      {"distance"}, {"largest"}, {"first"},
    {"previous", -1}, {"self", 0},  {"next", 1}, {"separator"}};
inline constexpr std::size_t kStatistics = std::size(kStatisticRows);

constexpr std::size_t index_of(Statistic statistic) {
  return static_cast<std::size_t>(statistic);
}
constexpr std::string_view name_of(Statistic statistic) {
  return kStatisticRows[index_of(statistic)].name;
}
// Of the query and of the keys: it has no meaning for cross-attention.
constexpr bool compares_positions(Statistic statistic) {
  return statistic == Statistic::distance ||
         kStatisticRows[index_of(statistic)].offset;
}

// Cells of a map along an axis of `length` queries or keys: query i is in cell
// i * map_size(Lq) / Lq. In a ragged batch and with query_lengths, the length
// is that of the sequence; later cells are 0.
inline constexpr std::size_t kMostMapCells = 64;
constexpr std::size_t map_size(std::size_t length) {
  return std::min(length, kMostMapCells);
}
// Number of queries or keys in a cell.
constexpr std::size_t map_cell_size(std::size_t cell, std::size_t length) {
  const std::size_t cells = map_size(length);
  return ((cell + 1) * length + cells - 1) / cells -
         (cell * length + cells - 1) / cells;
}

struct StatisticsOptions {
  bool rows = false;         // all statistics of each row
  std::size_t top_keys = 0;  // number of keys per row, at most 64: the largest
                             // weight first, the lowest key among equals
  bool columns = false;      // weight that each key receives, summed over rows
  bool map = false;          // mean and largest weight per cell of the matrix
  // (B, Lkv), true = a separator, such as [SEP]; no view: no separators.
  TensorView<const bool, 2> separators{};
  // (B): later queries are padding and count in no column, map or mean; no
  // view: no padding.
  TensorView<const std::int64_t, 1> query_lengths{};

  bool any() const { return rows || top_keys != 0 || columns || map; }
};

// Each has a view exactly when the options ask for it.
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
  // or below 0; invalid_argument for more than 64 top keys.
  HEADWISE_HIDDEN static Result<BoundStatistics> bind(
      const StatisticsOptions& options, const CallContext& context);

  const StatisticsOptions& wanted() const { return options_; }
  bool any() const { return options_.any(); }
  // The position of query 0 of sequence b among the keys.
  std::int64_t query_start(std::size_t b) const {
    return context_.first_position(b);
  }
  // The queries of sequence b that count.
  std::size_t queries(std::size_t b) const;
  bool separator(std::size_t b, std::size_t j) const {
    return options_.separators.data() != nullptr && options_.separators(b, j);
  }
  // The offsets of the next run, for a ragged batch. Errors: out_of_range for a
  // query length beyond the queries; then nothing changes.
  HEADWISE_HIDDEN Status set_offsets(const Offsets& offsets);

 private:
  StatisticsOptions options_;
  CallContext context_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
