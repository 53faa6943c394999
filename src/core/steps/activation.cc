#include "headwise/steps/activation.h"

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "headwise/kernels/targets.h"
#include "kernels/activation.h"
#include "steps/feature_rows.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using ActivationInput = NamedInput<float, 2>;

struct NamedOutput {
  std::string_view name;
  TensorView<float, 2> view;
};

// The rows have the extents of the first input; each output is one of the
// inputs or overlaps none, nor another output.
Status check_activation(std::string_view operation,
                        std::initializer_list<ActivationInput> inputs,
                        std::initializer_list<NamedOutput> outputs) {
  const Extents<2> extents = inputs.begin()->view.extents();
  for (const auto& [name, view] : inputs) {
    HEADWISE_TRY(check_feature_rows(operation, name, view, extents));
  }
  for (const auto& [name, view] : outputs) {
    HEADWISE_TRY(check_feature_rows(operation, name, view, extents));
  }
  std::array<NamedFootprint, 2> memory;
  std::size_t count = 0;
  for (const auto& [name, view] : outputs) {
    HEADWISE_TRY(check_in_place(operation, name, view, inputs));
    memory[count++] = {name, Footprint(view)};
  }
  HEADWISE_TRY(check_overlap(operation, std::span(memory).first(count),
                             std::span<const NamedFootprint>{}));
  return check_target();
}

// The loops and p of an activation.
struct BoundActivation {
  const kernels::Activation& loops;
  kernels::Cubic p{};
};

BoundActivation bound(Activation activation) {
  const kernels::Activations& curves = kernels::activations();
  constexpr double kTwoRootTwoByPi = 1.5957691216057308;  // 2 sqrt(2 / pi)
  switch (activation) {
    case Activation::gelu_tanh:
      // (1 + tanh(z)) / 2 is 1 / (1 + exp(-2 z)).
      return {curves.logistic, {kTwoRootTwoByPi, 0.044715 * kTwoRootTwoByPi}};
    case Activation::silu:
      return {curves.logistic, {.a = 1}};
    case Activation::quick_gelu:
      return {curves.logistic, {.a = 1.702}};
    case Activation::relu:
      return {curves.rectifier};
    case Activation::gelu:
      break;
  }
  return {curves.gaussian};
}

}  // namespace

Status activate(Activation activation, TensorView<const float, 2> x,
                TensorView<float, 2> y, const Executor& executor) try {
  HEADWISE_TRY(check_activation("activate", {{"x", x}}, {{"y", y}}));
  const BoundActivation f = bound(activation);
  for_each_feature_row(executor, x.extents(), [&](std::size_t n) {
    f.loops.elements(f.p, &x(n, 0), x.extent(1), &y(n, 0));
  });
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Status activate_backward(Activation activation, TensorView<const float, 2> x,
                         TensorView<const float, 2> d_y,
                         TensorView<float, 2> d_x,
                         const Executor& executor) try {
  HEADWISE_TRY(check_activation("activate_backward", {{"x", x}, {"d_y", d_y}},
                                {{"d_x", d_x}}));
  const BoundActivation f = bound(activation);
  for_each_feature_row(executor, x.extents(), [&](std::size_t n) {
    f.loops.gradient(f.p, &x(n, 0), &d_y(n, 0), x.extent(1), &d_x(n, 0));
  });
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Status activate_gate(Activation activation, TensorView<const float, 2> gate,
                     TensorView<const float, 2> up, TensorView<float, 2> y,
                     const Executor& executor) try {
  HEADWISE_TRY(check_activation("activate_gate", {{"gate", gate}, {"up", up}},
                                {{"y", y}}));
  const BoundActivation f = bound(activation);
  for_each_feature_row(executor, gate.extents(), [&](std::size_t n) {
    f.loops.gated(f.p, &gate(n, 0), &up(n, 0), gate.extent(1), &y(n, 0));
  });
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Status activate_gate_backward(Activation activation,
                              TensorView<const float, 2> gate,
                              TensorView<const float, 2> up,
                              TensorView<const float, 2> d_y,
                              TensorView<float, 2> d_gate,
                              TensorView<float, 2> d_up,
                              const Executor& executor) try {
  HEADWISE_TRY(check_activation("activate_gate_backward",
                                {{"gate", gate}, {"up", up}, {"d_y", d_y}},
                                {{"d_gate", d_gate}, {"d_up", d_up}}));
  const BoundActivation f = bound(activation);
  for_each_feature_row(executor, gate.extents(), [&](std::size_t n) {
    f.loops.gated_gradient(f.p, &gate(n, 0), &up(n, 0), &d_y(n, 0),
                           gate.extent(1), &d_gate(n, 0), &d_up(n, 0));
  });
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
