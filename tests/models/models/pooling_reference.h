// Pooling in double, straight from its formulas.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "headwise/models/model_settings.h"

namespace headwise::testing_support {

inline double pooled_feature(const std::vector<std::vector<double>>& hidden,
                             Pooling pooling, std::size_t e) {
  double sum = 0;
  double weighted = 0;
  double weights = 0;
  double most = hidden[0][e];
  for (const auto& row : hidden) {
    sum += row[e];
    weights += 1;
    weighted += weights * row[e];
    most = std::max(most, row[e]);
  }
  const double tokens = weights;
  weights *= (tokens + 1) / 2;
  switch (pooling) {
    case Pooling::mean:
      return sum / tokens;
    case Pooling::max:
      return most;
    case Pooling::mean_sqrt_len:
      return sum / std::sqrt(tokens);
    case Pooling::weighted_mean:
      return weighted / weights;
    case Pooling::last_token:
      return hidden.back()[e];
    case Pooling::cls:
      break;
  }
  return hidden[0][e];
}

inline std::vector<double> pooled(
    const std::vector<std::vector<double>>& hidden,
    std::span<const Pooling> pooling, bool normalize) {
  std::vector<double> embedding;
  double squares = 0;
  for (const Pooling one : pooling) {
    for (std::size_t e = 0; e < hidden[0].size(); ++e) {
      embedding.push_back(pooled_feature(hidden, one, e));
      squares += embedding.back() * embedding.back();
    }
  }
  for (double& x : embedding) {
    x /= normalize ? std::max(std::sqrt(squares), 1e-12) : 1;
  }
  return embedding;
}

}  // namespace headwise::testing_support
