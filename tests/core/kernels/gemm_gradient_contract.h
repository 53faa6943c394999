// The gradients of a projection as docs/arithmetic.md writes them, in scalar
// code. Nothing is shared with the kernels.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "headwise/steps/projection.h"
#include "headwise/steps/softmax.h"
#include "kernels/gemm_contract.h"
#include "run/float_environment.h"
#include "support/tensors.h"

namespace headwise::testing_support {

// Tokens [begin, end) of row b.
struct SequenceOf {
  std::size_t b;
  std::size_t begin;
  std::size_t end;
};

// `sum` and, in blocks of 128, the chains of the products of terms(n).
template <class Terms>
float contract_sum(std::size_t begin, std::size_t end, float sum,
                   Arithmetic arithmetic, const Terms& terms) {
  for (std::size_t first = begin; first < end; first += 128) {
    float chain = 0;
    for (const std::size_t n :
         contract_order(first, std::min(first + 128, end), arithmetic)) {
      const auto [a, b] = terms(n);
      chain = std::fma(contract_factor(a, arithmetic),
                       contract_factor(b, arithmetic), chain);
    }
    sum += chain;
  }
  return sum;
}

// The gradients of a projection with its parameters as given, from `sequences`
// in order.
struct ContractGradients {
  Tensor<float, 3> x;
  LinearGradients params;
};

inline ContractGradients contract_gradients(
    const Linear& linear, const Tensor<float, 3>& x,
    const Tensor<float, 3>& d_y, const std::vector<SequenceOf>& sequences) {
  const FloatEnvironment environment;
  const Arithmetic arithmetic = linear.arithmetic();
  const std::size_t in = linear.in_features();
  const std::size_t out = linear.out_features();
  ContractGradients want{Tensor<float, 3>::create(x.extents()).value(),
                         {Tensor<float, 2>::create({out, in}).value(),
                          filled<float, 1>({out}, 0)}};
  for (const SequenceOf& sequence : sequences) {
    // Not a structured binding: clang 14 has none of them in a lambda.
    const std::size_t b = sequence.b;
    const std::size_t begin = sequence.begin;
    const std::size_t end = sequence.end;
    for (std::size_t l = begin; l < end; ++l) {
      for (std::size_t i = 0; i < in; ++i) {
        want.x(b, l, i) =
            contract_sum(0, out, 0, arithmetic, [&](std::size_t o) {
              return std::pair(d_y(b, l, o), linear.weight()(o, i));
            });
      }
    }
    for (std::size_t o = 0; o < out; ++o) {
      float& bias = want.params.bias(o);
      bias = contract_sum(begin, end, bias, Arithmetic::exact, [&](auto l) {
        return std::pair(d_y(b, l, o), 1.0f);
      });
      for (std::size_t i = 0; i < in; ++i) {
        float& weight = want.params.weight(o, i);
        weight = contract_sum(begin, end, weight, arithmetic, [&](auto l) {
          return std::pair(d_y(b, l, o), x(b, l, i));
        });
      }
    }
  }
  for (const auto elements : {want.x.elements(), want.params.weight.elements(),
                              want.params.bias.elements()}) {
    for (float& g : elements) {
      g = std::isnan(g) ? kNaN : g;
    }
  }
  return want;
}

inline void expect_contract_gradients(
    const Linear& linear, const Tensor<float, 3>& x,
    const Tensor<float, 3>& d_y, const std::vector<SequenceOf>& sequences,
    TensorView<const std::int64_t, 1> offsets = {}) {
  const auto want = contract_gradients(linear, x, d_y, sequences);
  const auto params = linear.backward_params(x, d_y, offsets).value();
  EXPECT_TRUE(same_bits(linear.backward_input(d_y).value(), want.x));
  EXPECT_TRUE(same_bits(params.weight, want.params.weight));
  EXPECT_TRUE(same_bits(params.bias, want.params.bias));
}

}  // namespace headwise::testing_support
