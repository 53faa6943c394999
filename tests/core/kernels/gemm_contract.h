// A projection as docs/arithmetic.md writes it, one output at a time, in scalar
// code: what every kernel's bits are held against. Nothing is shared with the
// kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "headwise/base/arithmetic.h"
#include "headwise/base/half.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/projection.h"
#include "headwise/steps/softmax.h"
#include "run/float_environment.h"
#include "support/tensors.h"

namespace headwise::testing_support {

// What a projection multiplies by what.
inline float contract_factor(float x, Arithmetic arithmetic) {
  return arithmetic == Arithmetic::bf16 ? widened(narrowed_to_bfloat16(x)) : x;
}

// Of a block's numbers the order in which their products are added: in bfloat16
// of two neighbours the second is first.
inline std::vector<std::size_t> contract_order(std::size_t begin,
                                               std::size_t end,
                                               Arithmetic arithmetic) {
  std::vector<std::size_t> order;
  for (std::size_t i = begin; i < end; ++i) {
    order.push_back(i);
  }
  for (std::size_t n = 1; arithmetic == Arithmetic::bf16 && n < order.size();
       n += 2) {
    std::swap(order[n - 1], order[n]);
  }
  return order;
}

inline float contract_feature(TensorView<const float, 3> x, std::size_t b,
                              std::size_t l, const Linear& linear,
                              std::size_t o, Arithmetic arithmetic) {
  constexpr std::size_t kBlock = 128;
  const std::size_t in = linear.in_features();
  float sum = 0;
  for (std::size_t first = 0; first < in; first += kBlock) {
    float block = 0;
    for (const std::size_t i :
         contract_order(first, std::min(first + kBlock, in), arithmetic)) {
      block =
          std::fma(contract_factor(x(b, l, i), arithmetic),
                   contract_factor(linear.weight()(o, i), arithmetic), block);
    }
    block = block == 0 ? 0 : block;  // never -0
    sum = first == 0 ? block : sum + block;
  }
  sum = sum == 0 ? 0 : sum;
  const float y = linear.has_bias() ? sum + linear.bias()(o) : sum;
  return std::isnan(y) ? kNaN : y;
}

// `linear` has its parameters as given.
inline Tensor<float, 3> contract_projection(
    TensorView<const float, 3> x, const Linear& linear,
    Arithmetic arithmetic = Arithmetic::exact) {
  const FloatEnvironment environment;
  const auto [B, L, in] = x.extents();
  auto y = Tensor<float, 3>::create({B, L, linear.out_features()}).value();
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t l = 0; l < L; ++l) {
      for (std::size_t o = 0; o < linear.out_features(); ++o) {
        y(b, l, o) = contract_feature(x, b, l, linear, o, arithmetic);
      }
    }
  }
  return y;
}

}  // namespace headwise::testing_support
