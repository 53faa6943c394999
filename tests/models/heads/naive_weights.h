// Attention weights written once more, apart from the library: a whole matrix
// per head, in binary64.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "support/tensors.h"

namespace headwise::testing_support {

struct Heads {
  Tensor<float, 4> query;  // (1, L, Hq, D)
  Tensor<float, 4> key;    // (1, L, Hkv, D)
};

inline Heads random_heads(std::size_t L, std::size_t Hq, std::size_t Hkv,
                          std::size_t D, std::uint32_t stream) {
  return {uniform<4>({1, L, Hq, D}, stream, -3, 3),
          uniform<4>({1, L, Hkv, D}, stream + 1, -3, 3)};
}

// (Hq, L, L)
inline Tensor<double, 3> naive_weights(const Heads& heads, bool causal) {
  const auto [B, L, Hq, D] = heads.query.extents();
  auto weights = Tensor<double, 3>::create({Hq, L, L}).value();
  for (std::size_t h = 0; h < Hq; ++h) {
    for (std::size_t i = 0; i < L; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < (causal ? i + 1 : L); ++j) {
        double score = 0;
        for (std::size_t d = 0; d < D; ++d) {
          score += static_cast<double>(heads.query(0, i, h, d)) *
                   static_cast<double>(
                       heads.key(0, j, h * heads.key.extent(2) / Hq, d));
        }
        weights(h, i, j) = std::exp(score / std::sqrt(static_cast<double>(D)));
        sum += weights(h, i, j);
      }
      for (std::size_t j = 0; j < L; ++j) {
        weights(h, i, j) /= sum;
      }
    }
  }
  return weights;
}

}  // namespace headwise::testing_support
