#include <cstdint>
#include <string_view>
#include <utility>

#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "headwise/kernels/targets.h"
#include "headwise/steps/layer_norm.h"
#include "headwise/steps/offsets.h"
#include "steps/feature_rows.h"
#include "steps/layer_norm_terms.h"
#include "steps/norm_gradient.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kLayerNormGradient = "layer_norm_backward";

Status check_gradient_rows(const TensorView<const float, 2>& x,
                           const TensorView<const float, 2>& d_y,
                           const TensorView<float, 2>& d_x,
                           TensorView<const std::int64_t, 1> offsets) {
  HEADWISE_TRY(check_feature_rows(kLayerNormGradient, "x", x, x.extents()));
  HEADWISE_TRY(check_feature_rows(kLayerNormGradient, "d_y", d_y, x.extents()));
  HEADWISE_TRY(check_feature_rows(kLayerNormGradient, "d_x", d_x, x.extents()));
  HEADWISE_TRY(check_in_place(kLayerNormGradient, "d_x", d_x, {{"d_y", d_y}}));
  HEADWISE_TRY(check_overlap(kLayerNormGradient, {{"d_x", Footprint(d_x)}},
                             {{"x", Footprint(x)}}));
  const std::size_t N = x.extent(0);
  return offsets.data() == nullptr
             ? ok()
             : Offsets(offsets).check(N, N, kLayerNormGradient);
}

// One sequence of tokens that have one row each.
template <class T>
TensorView<T, 4> as_tokens(const TensorView<T, 2>& rows) {
  const auto [N, E] = rows.extents();
  return {rows.data(), {1, N, 1, E}, {0, rows.stride(0), 0, rows.stride(1)}};
}

}  // namespace

Result<LayerNormGradients> layer_norm_backward(
    TensorView<const float, 2> x, const LayerNormParams& params,
    TensorView<const float, 2> d_y, TensorView<float, 2> d_x,
    TensorView<const std::int64_t, 1> offsets, const Executor& executor) try {
  HEADWISE_TRY(check_gradient_rows(x, d_y, d_x, offsets));
  HEADWISE_ASSIGN(const auto terms,
                  layer_norm_terms(kLayerNormGradient, params, x.extent(1)));
  HEADWISE_TRY(check_target());
  HEADWISE_ASSIGN(
      auto gradients,
      differentiate_norm(
          terms, false, {as_tokens(x), as_tokens(d_y), as_tokens(d_x), offsets},
          executor));
  return LayerNormGradients{std::move(gradients.weight),
                            std::move(gradients.bias)};
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
