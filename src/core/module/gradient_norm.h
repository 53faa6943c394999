// The parts of clip_gradient_norm().
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace headwise::inline HEADWISE_ABI {

// sum + g^2 of each element, one after another.
inline double add_squares(double sum, std::span<const float> gradient) {
  // A sum of squares is not changed by +0, and tables have many of them. Each
  // sum waits for the one before, a look at a block does not.
  constexpr std::size_t kBlock = 16;
  while (!gradient.empty()) {
    const auto block = gradient.first(std::min(kBlock, gradient.size()));
    gradient = gradient.subspan(block.size());
    bool any = false;
    for (const float element : block) {
      any |= element != 0;
    }
    for (std::size_t n = 0; any && n < block.size(); ++n) {
      sum += static_cast<double>(block[n]) * block[n];
    }
  }
  return sum;
}

// What to multiply by, where it is below 1.
inline double clip_factor(double norm, double max_norm) {
  constexpr double kAboveZero = 1e-6;  // PyTorch's
  return max_norm / (norm + kAboveZero);
}

inline void scale_gradient(std::span<float> gradient, double factor) {
  for (float& element : gradient) {
    element = static_cast<float>(element * factor);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
