// The inner loops of the activations of feed-forward networks
// (docs/arithmetic.md). Nothing is checked or allocated; any alignment. An
// output may be any of the inputs.
#pragma once

#include <cstddef>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// p(x) = a x + b x^3, for activations f(x) = x / (1 + exp(-p(x))).
struct Cubic {
  double a = 0;
  double b = 0;
};

// The loops of one f; only those of x / (1 + exp(-p(x))) read p.
struct Activation {
  // y[i] = f(x[i]), i < count.
  void (*elements)(const Cubic& p, const float* x, std::size_t count, float* y);
  // d_x[i] = d_y[i] * f'(x[i]), 0 where d_y[i] is 0.
  void (*gradient)(const Cubic& p, const float* x, const float* d_y,
                   std::size_t count, float* d_x);
  // y[i] = f(gate[i]) * up[i].
  void (*gated)(const Cubic& p, const float* gate, const float* up,
                std::size_t count, float* y);
  // d_gate[i] = d_y[i] * up[i] * f'(gate[i]) and d_up[i] = d_y[i] * f(gate[i]),
  // both 0 where d_y[i] is 0.
  void (*gated_gradient)(const Cubic& p, const float* gate, const float* up,
                         const float* d_y, std::size_t count, float* d_gate,
                         float* d_up);
};

struct Activations {
  Activation gaussian;   // x Phi(x)
  Activation logistic;   // x / (1 + exp(-p(x)))
  Activation rectifier;  // max(x, 0)
};

// The loops for the best instruction set of this processor, or the forced one.
const Activations& activations();

}  // namespace headwise::inline HEADWISE_ABI::kernels
