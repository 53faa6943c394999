#include "distribute/feature_shares.h"

#include <algorithm>
#include <utility>

#include "kernels/gemm.h"
#include "steps/projection_gradient.h"

namespace headwise::inline HEADWISE_ABI {

std::vector<PartRange> feature_ranges(std::size_t features, std::size_t ranks) {
  const std::size_t strips = kernels::count_strips(features);
  const auto begin = [&](std::size_t rank) {
    return std::min(features, (rank * strips + ranks - 1) / ranks *
                                  kernels::kStripFeatures);
  };
  std::vector<PartRange> ranges;
  for (std::size_t r = 0; r < ranks; ++r) {
    ranges.push_back({begin(r), begin(r + 1) - begin(r)});
  }
  return ranges;
}

Result<LinearGradients> gradients_of_features(
    TensorView<const float, 3> x, TensorView<const float, 3> d_y,
    const PartRange& features, bool with_bias, Arithmetic arithmetic,
    TensorView<const std::int64_t, 1> offsets, const Executor& executor) {
  const auto sequences = projection_terms(x, d_y, offsets);
  HEADWISE_ASSIGN(auto weight,
                  projection_weight_gradient(sequences, x.extent(2),
                                             {features.first, features.count},
                                             arithmetic, executor));
  HEADWISE_ASSIGN(auto bias, projection_bias_gradient(
                                 sequences, {features.first,
                                             with_bias ? features.count : 0}));
  return LinearGradients{std::move(weight), std::move(bias)};
}

}  // namespace headwise::inline HEADWISE_ABI
