#include "headwise/steps/projection.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "headwise/steps/softmax.h"

namespace headwise {
namespace {

// Input features a block of the sum; the blocks are added in order.
constexpr std::size_t kFeatureBlock = 128;

float dot_in_blocks(const float* x, std::ptrdiff_t stride, const float* weight,
                    std::size_t features) {
  float sum = 0;
  for (std::size_t start = 0; start < features; start += kFeatureBlock) {
    const std::size_t end = std::min(start + kFeatureBlock, features);
    float block = 0;
    for (std::size_t i = start; i < end; ++i) {
      block += x[static_cast<std::ptrdiff_t>(i) * stride] * weight[i];
    }
    sum += block;
  }
  return sum;
}

}  // namespace

Result<Linear> Linear::create(const LinearConfig& config,
                              const RandomStream& random) {
  if (Status s =
          check_at_least_one("linear", "in_features", config.in_features);
      !s) {
    return s.error();
  }
  if (Status s =
          check_at_least_one("linear", "out_features", config.out_features);
      !s) {
    return s.error();
  }
  auto weight =
      Tensor<float, 2>::create({config.out_features, config.in_features});
  auto bias = Tensor<float, 1>::create({config.bias ? config.out_features : 0});
  if (!weight || !bias) {
    return weight ? bias.error() : weight.error();
  }
  const double bound = 1 / std::sqrt(static_cast<double>(config.in_features));
  random.fill_uniform(weight->elements(), -bound, bound);
  random.substream(1).fill_uniform(bias->elements(), -bound, bound);
  return Linear(*std::move(weight), *std::move(bias));
}

Result<Linear> Linear::from_params(Tensor<float, 2> weight,
                                   Tensor<float, 1> bias) {
  if (Status s = check_at_least_one("linear", "in_features", weight.extent(1));
      !s) {
    return s.error();
  }
  if (Status s = check_at_least_one("linear", "out_features", weight.extent(0));
      !s) {
    return s.error();
  }
  if (bias.size() != 0) {
    if (Status s = check_shape("linear", "bias", bias.extents(),
                               "(out_features)", {{weight.extent(0)}});
        !s) {
      return s.error();
    }
  }
  return Linear(std::move(weight), std::move(bias));
}

Result<Tensor<float, 3>> Linear::forward(TensorView<const float, 3> x,
                                         std::string_view name,
                                         const Executor& executor) const {
  const auto [B, L, features] = x.extents();
  if (features != in_features()) {
    return shape_error("linear", name, x.extents(), "(B, L, in_features)",
                       {{B, L, in_features()}});
  }
  auto y = Tensor<float, 3>::create({B, L, out_features()});
  if (!y) {
    return y.error();
  }
  executor.parallel_for(
      B * L, 8, [&, length = L](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) {
          const float* input = &x(row / length, row % length, 0);
          float* output = &(*y)(row / length, row % length, 0);
          for (std::size_t o = 0; o < out_features(); ++o) {
            const float sum = dot_in_blocks(input, x.stride(2), &weight_(o, 0),
                                            in_features());
            const float feature = has_bias() ? sum + bias_(o) : sum;
            output[o] = std::isnan(feature) ? kNaN : feature;
          }
        }
      });
  return y;
}

}  // namespace headwise
