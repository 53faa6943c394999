#include "distribute/batch_shares.h"

#include <algorithm>
#include <numeric>

namespace headwise::internal::inline HEADWISE_ABI {

BatchShares::BatchShares(const RaggedTokens& ids, std::size_t ranks)
    : offsets_(1, 0), sequences_(ranks), rows_(ranks, 0) {
  for (const auto& sequence : ids) {
    offsets_.push_back(offsets_.back() +
                       static_cast<std::int64_t>(sequence.size()));
  }
  std::vector<std::size_t> order(ids.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t n) { return ids[n].size(); });
  for (const std::size_t n : order) {
    const auto rank = static_cast<std::size_t>(std::ranges::min_element(rows_) -
                                               rows_.begin());
    sequences_[rank].push_back(n);
    rows_[rank] += ids[n].size();
  }
  for (auto& of_rank : sequences_) {
    std::ranges::sort(of_rank);
  }
}

}  // namespace headwise::internal::inline HEADWISE_ABI
