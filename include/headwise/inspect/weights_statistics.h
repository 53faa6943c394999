// What each head does, in numbers, from attention weights that another program
// computed: `output_attentions` of transformers, for example.
//
//   attn_weights  (B, Hq, Lq, Lkv)  0 or more, finite
//
// The statistics are those of attention/statistics.h, of the weights as they
// are: a row that does not sum to 1 is not divided by its sum. A row without
// any weight counts as a fully masked row. Sums are in binary64, each
// statistic is rounded once.
//
// Errors of the operation "weights_statistics":
//   bad_data  a weight that is negative or not finite, named by its index
//       ("attn_weights[0, 2, 1, 3]"); rows beyond query_lengths may hold
//       anything
//   those of AttentionSpec::create() for the statistics and query_start
//   out_of_memory
//
// Example:
//   AttentionStatistics done = weights_statistics(
//       weights, {}, {.statistics = {.rows = true}}).value();
//   float entropy = done.pooled.mean(h, Statistic::entropy);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/attention/statistics.h"
#include "headwise/attention/statistics_options.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Uses query_start and the executor of `options`, and the statistics of
// `operation_options`.
Result<AttentionStatistics> weights_statistics(
    TensorView<const float, 4> attn_weights, const AttentionOptions& options,
    const OperationOptions& operation_options);

// A row's weights sum to 1 if their sum is at most this far from it: more than
// rounding each weight to bfloat16 can do.
inline constexpr double kRowSumTolerance = 0.005;

// Rows whose weights do not sum to 1, as after dropout, next to a sink, or
// because the numbers are scores.
struct UnevenRows {
  std::size_t rows = 0;    // that have a weight
  std::size_t uneven = 0;  // of them
  // Where the sum is farthest from 1, if uneven is not 0.
  double sum = 1;
  std::size_t sequence = 0;
  std::size_t head = 0;
  std::size_t query = 0;
};

// Of all sequences; `query_lengths` (B) as in StatisticsOptions. The weights
// were checked by weights_statistics().
UnevenRows uneven_rows(TensorView<const float, 4> attn_weights,
                       TensorView<const std::int64_t, 1> query_lengths = {});

// The means, over all sequences of the spec, that are 0 whatever the head does
// become NaN.
void leave_out_unknown(const AttentionSpec& spec, PooledStatistics& pooled);

// What each head does over the sequences of a corpus (attention/statistics.h).
//
// A sequence counts by its rows: for each head and statistic,
//
//   mean = sum_s rows_s * mean_s / sum_s rows_s
//
// where rows_s and mean_s are those of PooledStatistics for sequence s alone.
// Sums are in binary64. Sequences are added in order in groups, and groups in
// order, so several ranks can compute groups without changing a bit
// (docs/arithmetic.md, "Statistics of a corpus").
//
// Example:
//   StatisticsSums corpus(num_heads);
//   for (const auto& sequences : groups) {  // of kSequencesOfAGroup
//     StatisticsSums group(num_heads);
//     for (const AttentionStatistics& one : sequences) {
//       group.add(0, one.pooled);
//     }
//     corpus.add(group);
//   }
//   corpus.mean(head, Statistic::entropy);

class StatisticsSums {
 public:
  // Groups begin at multiples of this sequence number.
  static constexpr std::size_t kSequencesOfAGroup = 1024;

  explicit StatisticsSums(std::size_t heads) : values_(heads * kOfAHead) {}

  std::size_t heads() const { return values_.size() / kOfAHead; }
  // The next sequence; its head 0 is `first_head` here.
  void add(std::size_t first_head, const PooledStatistics& sequence);
  // The next group, with as many heads.
  void add(const StatisticsSums& group);

  // NaN for a head without rows.
  double mean(std::size_t head, Statistic statistic) const;
  std::int64_t rows(std::size_t head) const {
    return static_cast<std::int64_t>(at(head, kRows));
  }
  std::int64_t rows_without_key(std::size_t head) const {
    return static_cast<std::int64_t>(at(head, kWithoutKey));
  }

  // All numbers, for a file or another rank.
  std::span<double> values() { return values_; }
  std::span<const double> values() const { return values_; }

 private:
  // The sums, then two numbers of rows, which are whole numbers below 2^53.
  static constexpr std::size_t kRows = kStatistics;
  static constexpr std::size_t kWithoutKey = kStatistics + 1;
  static constexpr std::size_t kOfAHead = kStatistics + 2;

  double& at(std::size_t head, std::size_t n) {
    return values_[head * kOfAHead + n];
  }
  double at(std::size_t head, std::size_t n) const {
    return values_[head * kOfAHead + n];
  }

  std::vector<double> values_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
