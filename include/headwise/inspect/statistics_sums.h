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
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headwise/attention/statistics.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class StatisticsSums {
 public:
  // Groups begin at multiples of this sequence number.
  static constexpr std::size_t kSequencesOfAGroup = 1024;

  explicit StatisticsSums(std::size_t heads);

  std::size_t heads() const { return values_.size() / kOfAHead; }
  // The next sequence; its head 0 is `first_head` here.
  void add(std::size_t first_head, const PooledStatistics& sequence);
  // The next group, with as many heads.
  void add(const StatisticsSums& group);

  // NaN for a head without rows.
  double mean(std::size_t head, Statistic statistic) const;
  std::int64_t rows(std::size_t head) const;
  std::int64_t rows_without_key(std::size_t head) const;

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
