// The activation of a feed-forward network, element by element, alone or gated:
//
//   y = f(x)         x         (N, E)  in
//   y = f(gate) up   gate, up  (N, E)  in, as a GLU's halves
//                    y         (N, E)  out
//
//   gelu        x Phi(x) = x / 2 (1 + erf(x / sqrt 2))
//   gelu_tanh   x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
//   silu        x sigmoid(x), also called swish
//   quick_gelu  x sigmoid(1.702 x)
//   relu        max(x, 0)
//
// Phi is the standard normal distribution, sigmoid(x) is 1 / (1 + exp(-x)).
#pragma once

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

enum class Activation { gelu, gelu_tanh, silu, quick_gelu, relu };

Status activate(Activation activation, TensorView<const float, 2> x,
                TensorView<float, 2> y,
                const Executor& executor = Executor::default_executor());

Status activate_backward(
    Activation activation, TensorView<const float, 2> x,
    TensorView<const float, 2> d_y, TensorView<float, 2> d_x,
    const Executor& executor = Executor::default_executor());

Status activate_gate(Activation activation, TensorView<const float, 2> gate,
                     TensorView<const float, 2> up, TensorView<float, 2> y,
                     const Executor& executor = Executor::default_executor());

Status activate_gate_backward(
    Activation activation, TensorView<const float, 2> gate,
    TensorView<const float, 2> up, TensorView<const float, 2> d_y,
    TensorView<float, 2> d_gate, TensorView<float, 2> d_up,
    const Executor& executor = Executor::default_executor());

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
