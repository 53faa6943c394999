#include "models/pooling.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headwise {
namespace {

float sum_of_squares(std::span<const float> x) {
  std::array<float, 16> part{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    part[i % part.size()] += x[i] * x[i];
  }
  for (std::size_t half = part.size() / 2; half != 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) {
      part[j] += part[j + half];
    }
  }
  return part[0];
}

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

void pool_one(TensorView<const float, 2> hidden, Pooling pooling, float* to) {
  const auto tokens = static_cast<float>(hidden.extent(0));
  switch (pooling) {
    case Pooling::cls:
      std::copy_n(&hidden(0, 0), hidden.extent(1), to);
      return;
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

}  // namespace

void pool(TensorView<const float, 2> hidden, std::span<const Pooling> pooling,
          bool normalize, float* to) {
  const std::size_t E = hidden.extent(1);
  for (std::size_t n = 0; n < pooling.size(); ++n) {
    pool_one(hidden, pooling[n], to + n * E);
  }
  if (normalize) {
    const std::span embedding(to, pooling.size() * E);
    const float norm = std::max(std::sqrt(sum_of_squares(embedding)), 1e-12f);
    for (float& x : embedding) {
      x /= norm;
    }
  }
}

}  // namespace headwise
