// Heads and what they do written once more, in float64 by plain loops, apart
// from the library.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "headwise/module/multi_head_attention.h"
#include "support/tensors.h"

namespace headwise::testing_support {

using PlainMatrix = std::vector<std::vector<double>>;

// Queries, keys and values of a padded batch, with numbers in the padding that
// must change nothing.
struct PlainBatch {
  Tensor<float, 4> query;  // (B, L, H, D)
  Tensor<float, 4> key;
  Tensor<float, 4> value;  // (B, L, H, Dv)
  std::vector<std::int64_t> lengths;
  bool causal = false;

  std::size_t length(std::size_t b) const {
    return static_cast<std::size_t>(lengths[b]);
  }
  AttentionOptions options() const {
    const Mask mask = key_lengths(lengths);
    return {.mask = causal ? mask & headwise::causal() : mask};
  }

  // Of one head, (L, L); 0 where masked.
  PlainMatrix weights(std::size_t b, std::size_t h) const {
    const auto [B, L, H, D] = query.extents();
    PlainMatrix w(L, std::vector<double>(L));
    for (std::size_t i = 0; i < L; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < length(b) && (!causal || j <= i); ++j) {
        double score = 0;
        for (std::size_t d = 0; d < D; ++d) {
          score += static_cast<double>(query(b, i, h, d)) *
                   static_cast<double>(key(b, j, h, d));
        }
        w[i][j] = std::exp(score / std::sqrt(static_cast<double>(D)));
        sum += w[i][j];
      }
      for (double& weight : w[i]) {
        weight = sum == 0 ? 0 : weight / sum;
      }
    }
    return w;
  }
};

inline PlainBatch plain_batch(std::vector<std::int64_t> lengths, std::size_t L,
                              std::size_t H, std::size_t D, std::size_t Dv,
                              bool causal = false) {
  const std::size_t B = lengths.size();
  return {uniform<4>({B, L, H, D}, 1, -2, 2),
          uniform<4>({B, L, H, D}, 2, -2, 2), uniform<4>({B, L, H, Dv}, 3),
          std::move(lengths), causal};
}

// w_o[h] value[b,j,h]: what key j adds through head h with the weight 1.
inline std::vector<double> plain_head_value(const MultiHeadAttention& layer,
                                            const Tensor<float, 4>& value,
                                            std::size_t b, std::size_t j,
                                            std::size_t h) {
  const std::size_t Dv = value.extent(3);
  const auto weight = layer.params()->w_o->weight();
  std::vector<double> f(weight.extent(0));
  for (std::size_t e = 0; e < f.size(); ++e) {
    for (std::size_t d = 0; d < Dv; ++d) {
      f[e] += static_cast<double>(weight(e, h * Dv + d)) *
              static_cast<double>(value(b, j, h, d));
    }
  }
  return f;
}

inline double plain_norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double number : x) {
    sum += number * number;
  }
  return std::sqrt(sum);
}

}  // namespace headwise::testing_support
