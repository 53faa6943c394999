#include <cassert>

#include "headwise/inspect/weights_statistics.h"

namespace headwise::inline HEADWISE_ABI {

void StatisticsSums::add(std::size_t first_head,
                         const PooledStatistics& sequence) {
  for (std::size_t h = 0; h < sequence.rows.size(); ++h) {
    const auto rows = static_cast<double>(sequence.rows(h));
    // The mean of no rows is NaN.
    for (std::size_t k = 0; rows != 0 && k < kStatistics; ++k) {
      at(first_head + h, k) +=
          rows * static_cast<double>(sequence.means(h, k));  // exact product
    }
    at(first_head + h, kRows) += rows;
    at(first_head + h, kWithoutKey) +=
        static_cast<double>(sequence.rows_without_key(h));
  }
}

void StatisticsSums::add(const StatisticsSums& group) {
  assert(group.values_.size() == values_.size());
  for (std::size_t n = 0; n < values_.size(); ++n) {
    values_[n] += group.values_[n];
  }
}

double StatisticsSums::mean(std::size_t head, Statistic statistic) const {
  return at(head, index_of(statistic)) / at(head, kRows);
}

}  // namespace headwise::inline HEADWISE_ABI
