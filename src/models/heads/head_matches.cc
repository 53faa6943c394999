#include "heads/head_matches.h"

#include "heads/assignment.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr double kSamePlace = 1e-9;

}  // namespace

HeadMatches match_heads(TensorView<const double, 2> similarity,
                        std::span<const HeadId> a, std::span<const HeadId> b) {
  std::vector<double> gains;
  HeadMatches matches;
  for (std::size_t m = 0; m < a.size(); ++m) {
    std::optional<std::size_t> nearest;
    for (std::size_t n = 0; n < b.size(); ++n) {
      gains.push_back(similarity(m, n) + (a[m] == b[n] ? kSamePlace : 0));
      if (!nearest || gains.back() > gains[m * b.size() + *nearest]) {
        nearest = n;
      }
    }
    matches.nearest.push_back(nearest);
  }
  matches.partners = best_assignment(
      TensorView<const double, 2>(gains.data(), {a.size(), b.size()}));
  return matches;
}

}  // namespace headwise::inline HEADWISE_ABI
