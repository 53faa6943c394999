#include "heads/offset_profile.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heads/weight_tiles.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kOffsets = 2 * kMostOffset + 1;
using Sums = std::array<double, kOffsets>;

// The key of query i at the offset of index n, or `length` if the query does
// not see it.
std::size_t key_at(std::size_t i, std::size_t n, std::size_t length,
                   bool causal) {
  const std::size_t j = i + n - kMostOffset;  // wraps below 0
  return j < length && (j <= i || !causal) ? j : length;
}

// Of a text, over its queries.
struct OffsetSums {
  Sums queries{};  // that see a key there
  Sums equal{};    // equal attention to it
  std::vector<Sums> weights;
};

OffsetProfile profile_of(const OffsetSums& sums, const Sums& weights,
                         std::size_t length) {
  OffsetProfile profile;
  for (std::size_t n = 0; n < kOffsets; ++n) {
    if (sums.queries[n] != 0) {
      profile.covered[n] =
          static_cast<float>(sums.queries[n] / static_cast<double>(length));
      profile.excess[n] =
          static_cast<float>((weights[n] - sums.equal[n]) / sums.queries[n]);
    }
  }
  return profile;
}

}  // namespace

Result<std::vector<OffsetProfile>> offset_profiles(
    TensorView<const float, 4> query, TensorView<const float, 4> key,
    bool causal, const AttentionOptions& options) {
  const std::size_t length = query.extent(1);
  OffsetSums sums{.weights = std::vector<Sums>(query.extent(2))};
  const auto see = [&](std::size_t first,
                       TensorView<const float, 4> weights) -> Status {
    for (std::size_t row = 0; row < weights.extent(2); ++row) {
      const std::size_t i = first + row;
      const double equal = 1 / static_cast<double>(causal ? i + 1 : length);
      for (std::size_t n = 0; n < kOffsets; ++n) {
        const std::size_t j = key_at(i, n, length, causal);
        if (j == length) {
          continue;
        }
        sums.queries[n] += 1;
        sums.equal[n] += equal;
        for (std::size_t h = 0; h < sums.weights.size(); ++h) {
          sums.weights[h][n] += static_cast<double>(weights(0, h, row, j));
        }
      }
    }
    return ok();
  };
  HEADWISE_TRY(for_weight_rows({query, key, options, {}}, see));
  std::vector<OffsetProfile> profiles;
  for (const Sums& weights : sums.weights) {
    profiles.push_back(profile_of(sums, weights, length));
  }
  return profiles;
}

std::vector<double> positional_scores(std::span<const OffsetProfile> texts) {
  // Every query sees its own key, so only texts without tokens do not cover it.
  const auto counts = [](const OffsetProfile& text) {
    return text.covered[kMostOffset] != 0 &&
           std::ranges::none_of(
               text.excess, [](float excess) { return std::isnan(excess); });
  };
  const bool several = std::ranges::count_if(texts, counts) > 1;
  std::vector<double> scores;
  for (const OffsetProfile& text : texts) {
    scores.push_back(
        several && counts(text) ? 0 : std::numeric_limits<double>::quiet_NaN());
  }
  for (std::size_t n = 0; n < kOffsets; ++n) {
    double sum = 0;
    double count = 0;
    for (std::size_t t = 0; t < texts.size(); ++t) {
      if (texts[t].covered[n] != 0 && !std::isnan(scores[t])) {
        sum += static_cast<double>(texts[t].excess[n]);
        count += 1;
      }
    }
    for (std::size_t t = 0; t < texts.size() && count > 1; ++t) {
      const auto own = static_cast<double>(texts[t].excess[n]);
      const double others = (sum - own) / (count - 1);
      scores[t] += static_cast<double>(texts[t].covered[n]) *
                   std::max(std::min(own, others), 0.0);
    }
  }
  return scores;
}

}  // namespace headwise::inline HEADWISE_ABI
