// A projection by AMX as docs/arithmetic.md writes it, one output at a time, in
// scalar code. Nothing is shared with the kernels.
#pragma once

#include <algorithm>
#include <cmath>

#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/projection.h"
#include "headwise/steps/softmax.h"
#include "kernels/gemm_contract.h"
#include "run/float_environment.h"

namespace headwise::testing_support {

inline float amx_feature(TensorView<const float, 3> x, std::size_t l,
                         const Linear& linear, std::size_t o) {
  constexpr std::size_t kBlock = 32;
  const std::size_t in = linear.in_features();
  float sum = 0;
  for (std::size_t first = 0; first < in; first += kBlock) {
    float chains[2] = {0, 0};  // of features 2i, of features 2i + 1
    for (std::size_t i = first; i < std::min(first + kBlock, in); ++i) {
      chains[i % 2] =
          std::fma(contract_factor(x(0, l, i), Arithmetic::bf16),
                   contract_factor(linear.weight()(o, i), Arithmetic::bf16),
                   chains[i % 2]);
    }
    sum += chains[0] + chains[1];
  }
  sum = sum == 0 ? 0 : sum;  // never -0
  const float y = linear.has_bias() ? sum + linear.bias()(o) : sum;
  return std::isnan(y) ? kNaN : y;
}

// x is (1, L, in_features); `linear` has its parameters as given.
inline Tensor<float, 3> amx_projection(TensorView<const float, 3> x,
                                       const Linear& linear) {
  const FloatEnvironment environment;
  const std::size_t L = x.extent(1);
  auto y = Tensor<float, 3>::create({1, L, linear.out_features()}).value();
  for (std::size_t l = 0; l < L; ++l) {
    for (std::size_t o = 0; o < linear.out_features(); ++o) {
      y(0, l, o) = amx_feature(x, l, linear, o);
    }
  }
  return y;
}

}  // namespace headwise::testing_support
