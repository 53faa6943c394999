#include "heads/head_values.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/copy_of.h"
#include "kernels/gemm.h"
#include "steps/call_part.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The columns [first, first + count) of the weight. An encoder that was read
// for inference keeps only the packed one.
Result<Linear> columns_of(const Linear& linear, std::size_t first,
                          std::size_t count) {
  constexpr std::size_t kLanes = kernels::kStripFeatures;
  if (linear.keeps_params()) {
    HEADWISE_ASSIGN(auto weight,
                    copy_of(part_along(1, linear.weight(), {first, count})));
    return Linear::from_params(std::move(weight));
  }
  HEADWISE_ASSIGN(auto weight, Tensor<float, 2>::create_unset(
                                   {linear.out_features(), count}));
  const std::size_t strip = kernels::strip_size(linear.in_features());
  const float* const packed = linear.packed().data();
  for (std::size_t out = 0; out < linear.out_features(); ++out) {
    const float* const rows = packed + out / kLanes * strip + out % kLanes;
    for (std::size_t n = 0; n < count; ++n) {
      weight(out, n) = rows[(1 + first + n) * kLanes];
    }
  }
  return Linear::from_params(std::move(weight));
}

// The upper triangle R with R^T R = W^T W, row by row. Where the rank of
// W is below D, a pivot may round to 0 or below; it then counts as 0.
std::vector<double> cholesky_factor(TensorView<const float, 2> W) {
  const auto [E, D] = W.extents();
  std::vector<double> R(D * D);
  for (std::size_t i = 0; i < D; ++i) {
    for (std::size_t j = i; j < D; ++j) {
      double sum = 0;
      for (std::size_t e = 0; e < E; ++e) {
        sum += static_cast<double>(W(e, i)) * static_cast<double>(W(e, j));
      }
      for (std::size_t k = 0; k < i; ++k) {
        sum -= R[k * D + i] * R[k * D + j];
      }
      const double pivot = R[i * D + i];
      R[i * D + j] = i == j       ? std::sqrt(std::max(sum, 0.0))
                     : pivot == 0 ? 0
                                  : sum / pivot;
    }
  }
  return R;
}

}  // namespace

Result<HeadValues> HeadValues::create(std::string_view operation,
                                      const MultiHeadAttention& layer,
                                      const Extents<4>& value) {
  const auto& params = layer.params();
  if (!params) {
    return value_error(operation, "layer", "one with an open input size",
                       "one whose input sizes are known: call fix_sizes()");
  }
  const MultiHeadAttentionConfig& config = layer.config();
  if (config.arithmetic != Arithmetic::exact && !keeps_params(*params)) {
    return value_error(operation, "layer", "without the parameters as given",
                       "one that can be trained", ErrorCode::unsupported);
  }
  const std::size_t Dv = *config.v_head_dim;
  HEADWISE_TRY(
      check_shape(operation, "value", value, "(B, Lkv, Hkv, Dv)",
                  Extents<4>{value[0], value[1], *config.num_kv_heads, Dv}));
  HeadValues values;
  values.num_heads_ = config.num_heads;
  values.num_kv_heads_ = *config.num_kv_heads;
  HEADWISE_ASSIGN(values.groups_, HeadGroups::create(config.kv_group_sizes));
  for (std::size_t h = 0; params->w_o && h < config.num_heads; ++h) {
    HEADWISE_ASSIGN(auto part, columns_of(*params->w_o, h * Dv, Dv));
    values.parts_.push_back(std::move(part));
  }
  return values;
}

Status HeadValues::keep_norms_only() {
  for (Linear& part : parts_) {
    const std::size_t Dv = part.in_features();
    if (part.out_features() <= Dv) {
      continue;
    }
    HEADWISE_ASSIGN(auto factor, Tensor<float, 2>::create_unset({Dv, Dv}));
    std::ranges::transform(cholesky_factor(part.weight()), factor.data(),
                           [](double x) { return static_cast<float>(x); });
    HEADWISE_ASSIGN(part, Linear::from_params(std::move(factor)));
  }
  return ok();
}

Result<Tensor<float, 3>> HeadValues::of(std::size_t head,
                                        TensorView<const float, 4> value,
                                        std::size_t first, std::size_t count,
                                        const Executor& executor) const {
  const auto [B, Lkv, Hkv, Dv] = value.extents();
  const HeadMap map(num_heads_, num_kv_heads_, groups_);
  const auto offset = [&](std::size_t n, std::size_t axis) {
    return static_cast<std::ptrdiff_t>(n) * value.stride(axis);
  };
  const TensorView<const float, 3> x(
      value.data() + offset(first, 1) + offset(map.kv_head(head), 2),
      {B, count, Dv}, {value.stride(0), value.stride(1), value.stride(3)});
  if (!parts_.empty()) {
    return parts_[head].forward(x, "value", executor);
  }
  return copy_of(x);
}

}  // namespace headwise::inline HEADWISE_ABI
