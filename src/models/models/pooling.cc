#include "models/pooling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "steps/one_nan.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr float kLeastLength = 1e-12f;

// to[e] = hidden[0,e], then join(to[e], hidden[t,e]) for t from 1 on.
template <class Join>
void over_tokens(TensorView<const float, 2> hidden, float* to,
                 const Join& join) {
  const auto [tokens, E] = hidden.extents();
  std::copy_n(&hidden(0, 0), E, to);
  for (std::size_t t = 1; t < tokens; ++t) {
    std::transform(to, to + E, &hidden(t, 0), to, join);
  }
}

// Of tokens 1, 2, 3 and so on: what a weighted mean divides by.
float sum_of_places(std::size_t tokens) {
  return static_cast<float>(tokens * (tokens + 1) / 2);
}

void weighted_mean(TensorView<const float, 2> hidden, float* to) {
  const auto [tokens, E] = hidden.extents();
  std::fill_n(to, E, 0.0f);
  for (std::size_t t = 0; t < tokens; ++t) {
    const auto place = static_cast<float>(t + 1);
    std::transform(to, to + E, &hidden(t, 0), to,
                   [place](float sum, float x) { return sum + place * x; });
  }
  const float by = sum_of_places(tokens);
  std::transform(to, to + E, to, [by](float x) { return x / by; });
}

void pool_one(TensorView<const float, 2> hidden, Pooling pooling, float* to) {
  const auto tokens = static_cast<float>(hidden.extent(0));
  switch (pooling) {
    case Pooling::cls:
      std::copy_n(&hidden(0, 0), hidden.extent(1), to);
      return;
    case Pooling::last_token:
      std::copy_n(&hidden(hidden.extent(0) - 1, 0), hidden.extent(1), to);
      return;
    case Pooling::weighted_mean:
      return weighted_mean(hidden, to);
    case Pooling::max:
      return over_tokens(hidden, to,
                         [](float a, float b) { return a > b ? a : b; });
    case Pooling::mean:
    case Pooling::mean_sqrt_len: {
      const float by = pooling == Pooling::mean ? tokens : std::sqrt(tokens);
      over_tokens(hidden, to, std::plus<>());
      std::transform(to, to + hidden.extent(1), to,
                     [by](float x) { return x / by; });
    }
  }
}

// d_hidden += what one pooling passes back.
void pool_one_backward(TensorView<const float, 2> hidden, Pooling pooling,
                       const float* d_y, TensorView<float, 2> d_hidden) {
  const auto [tokens, E] = hidden.extents();
  if (pooling == Pooling::cls || pooling == Pooling::last_token) {
    float* const row = &d_hidden(pooling == Pooling::cls ? 0 : tokens - 1, 0);
    std::transform(d_y, d_y + E, row, row, std::plus<>());
    return;
  }
  if (pooling == Pooling::max) {
    for (std::size_t e = 0; e < E; ++e) {
      std::size_t first = 0;
      for (std::size_t t = 1; t < tokens; ++t) {
        first = hidden(t, e) > hidden(first, e) ? t : first;
      }
      d_hidden(first, e) += d_y[e];
    }
    return;
  }
  const bool is_weighted = pooling == Pooling::weighted_mean;
  const auto count = static_cast<float>(tokens);
  const float by = is_weighted                ? sum_of_places(tokens)
                   : pooling == Pooling::mean ? count
                                              : std::sqrt(count);
  for (std::size_t t = 0; t < tokens; ++t) {
    const float weight = is_weighted ? static_cast<float>(t + 1) : 1;
    for (std::size_t e = 0; e < E; ++e) {
      d_hidden(t, e) += weight * d_y[e] / by;
    }
  }
}

}  // namespace

float dot(std::span<const float> x, std::span<const float> y) {
  std::array<float, 16> part{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    part[i % part.size()] += x[i] * y[i];
  }
  for (std::size_t half = part.size() / 2; half != 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) {
      part[j] += part[j + half];
    }
  }
  return part[0];
}

std::vector<float> pool(TensorView<const float, 2> hidden,
                        std::span<const Pooling> pooling) {
  const std::size_t E = hidden.extent(1);
  std::vector<float> y(pooling.size() * E);
  for (std::size_t n = 0; n < pooling.size(); ++n) {
    pool_one(hidden, pooling[n], &y[n * E]);
  }
  return y;
}

void divide_by_length(std::span<float> y) {
  const float norm = std::max(std::sqrt(dot(y, y)), kLeastLength);
  for (float& x : y) {
    x = one_nan(x / norm);
  }
}

void pool_backward(TensorView<const float, 2> hidden,
                   std::span<const Pooling> pooling, std::span<const float> d_y,
                   TensorView<float, 2> d_hidden) {
  const auto [tokens, E] = hidden.extents();
  for (std::size_t t = 0; t < tokens; ++t) {
    std::fill_n(&d_hidden(t, 0), E, 0.0f);
  }
  for (std::size_t n = 0; n < pooling.size(); ++n) {
    pool_one_backward(hidden, pooling[n], d_y.data() + n * E, d_hidden);
  }
}

std::vector<float> back_through_length(std::vector<float> y,
                                       std::span<const float> d_e) {
  const float length = std::sqrt(dot(y, y));
  const float norm = std::max(length, kLeastLength);
  for (float& x : y) {
    x /= norm;
  }
  const float along = length < kLeastLength ? 0 : dot(y, d_e);
  for (std::size_t n = 0; n < y.size(); ++n) {
    y[n] = (d_e[n] - y[n] * along) / norm;
  }
  return y;
}

}  // namespace headwise::inline HEADWISE_ABI
