// Which rank computes which sequences of a batch, and where the rows of their
// tokens are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headwise/base/tensor_view.h"
#include "headwise/steps/tokens.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

class BatchShares {
 public:
  // Each sequence, longest first, goes to the rank with the fewest tokens. A
  // rank may get none.
  BatchShares(const RaggedTokens& ids, std::size_t ranks);

  std::size_t ranks() const { return sequences_.size(); }
  // Ascending.
  const std::vector<std::size_t>& sequences(std::size_t rank) const {
    return sequences_[rank];
  }
  // Rows of tokens: of the batch, and of a rank, sequence after sequence.
  std::size_t rows() const { return static_cast<std::size_t>(offsets_.back()); }
  std::size_t rows(std::size_t rank) const { return rows_[rank]; }
  TensorView<const std::int64_t, 1> offsets() const {
    return {offsets_.data(), {offsets_.size()}};
  }

  // Calls visit(row of the batch, row of the rank, rows) for each sequence of
  // the rank.
  template <class Visit>
  void for_each(std::size_t rank, const Visit& visit) const {
    std::size_t row = 0;
    for (const std::size_t n : sequences_[rank]) {
      const auto first = static_cast<std::size_t>(offsets_[n]);
      const std::size_t count =
          static_cast<std::size_t>(offsets_[n + 1]) - first;
      visit(first, row, count);
      row += count;
    }
  }

 private:
  std::vector<std::int64_t> offsets_;                // (sequences + 1)
  std::vector<std::vector<std::size_t>> sequences_;  // [rank]
  std::vector<std::size_t> rows_;                    // [rank]
};

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
