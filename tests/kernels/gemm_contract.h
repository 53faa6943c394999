// A projection as docs/arithmetic.md writes it, one output at a time, in scalar
// code: what every kernel's bits are held against. Nothing is shared with the
// kernels.
#pragma once

#include <algorithm>
#include <cmath>

#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/projection.h"
#include "headwise/steps/softmax.h"
#include "run/float_environment.h"
#include "support/tensors.h"

namespace headwise::testing_support {

inline float contract_feature(TensorView<const float, 3> x, std::size_t b,
                              std::size_t l, const Linear& linear,
                              std::size_t o) {
  constexpr std::size_t kBlock = 128;
  const std::size_t in = linear.in_features();
  float sum = 0;
  for (std::size_t first = 0; first < in; first += kBlock) {
    float block = 0;
    for (std::size_t i = first; i < std::min(first + kBlock, in); ++i) {
      block = std::fma(x(b, l, i), linear.weight()(o, i), block);
    }
    block = block == 0 ? 0 : block;  // never -0
    sum = first == 0 ? block : sum + block;
  }
  sum = sum == 0 ? 0 : sum;
  const float y = linear.has_bias() ? sum + linear.bias()(o) : sum;
  return std::isnan(y) ? kNaN : y;
}

inline Tensor<float, 3> contract_projection(TensorView<const float, 3> x,
                                            const Linear& linear) {
  const FloatEnvironment environment;
  const auto [B, L, in] = x.extents();
  auto y = Tensor<float, 3>::create({B, L, linear.out_features()}).value();
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t l = 0; l < L; ++l) {
      for (std::size_t o = 0; o < linear.out_features(); ++o) {
        y(b, l, o) = contract_feature(x, b, l, linear, o);
      }
    }
  }
  return y;
}

}  // namespace headwise::testing_support
