// Outputs that some ranks ask for and others do not.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

// What each rank wants of N outputs.
template <std::size_t N>
class Wanted {
 public:
  using Own = std::array<bool, N>;
  // All ranks tell each other. Errors: rank_failure.
  static Result<Wanted> ask(Communicator& group, const Own& own) {
    std::array<std::byte, N> told;
    std::ranges::transform(own, told.begin(),
                           [](bool wants) { return std::byte{wants}; });
    Wanted wanted;
    wanted.by_rank_.resize(group.ranks());
    const std::vector<std::span<const std::byte>> out(group.ranks(), told);
    const std::vector<std::span<std::byte>> in(wanted.by_rank_.begin(),
                                               wanted.by_rank_.end());
    HEADWISE_TRY(group.exchange(out, in));
    return wanted;
  }

  bool by(std::size_t rank, std::size_t n) const {
    return by_rank_[rank][n] != std::byte{0};
  }
  bool by_any(std::size_t n) const {
    return std::ranges::any_of(
        by_rank_, [n](const auto& rank) { return rank[n] != std::byte{0}; });
  }
  bool any() const {
    for (std::size_t n = 0; n < N; ++n) {
      if (by_any(n)) {
        return true;
      }
    }
    return false;
  }

 private:
  std::vector<std::array<std::byte, N>> by_rank_;
};

}  // namespace headwise::inline HEADWISE_ABI
