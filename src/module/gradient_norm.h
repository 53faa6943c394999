// The parts of clip_gradient_norm().
#pragma once

#include <cmath>
#include <span>

namespace headwise::inline HEADWISE_ABI {

// sum + g^2 of each element, one after another.
inline double add_squares(double sum, std::span<const float> gradient) {
  for (const float element : gradient) {
    // A sum of squares is not changed by +0, and tables have many of them.
    if (element != 0) {
      sum += static_cast<double>(element) * element;
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
