// Operators that fold any number of inputs that are broadcast against each
// other: Max, Min, Sum.
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "onnx/broadcast.h"
#include "onnx/extremes.h"
#include "onnx/numbers.h"
#include "onnx/operators.h"
#include "onnx/strided.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// `elements`: those of an input, as numbers of one kind.
template <class Elements, class Fold>
Result<Outputs> folded(const NodeCall& node, Elements elements, Fold fold) {
  std::vector<std::size_t> inputs(node.input_count());
  std::iota(inputs.begin(), inputs.end(), std::size_t{0});
  HEADWISE_ASSIGN(const auto shape, broadcast_shape(node, inputs));
  HEADWISE_TRY(check_size(shape));
  decltype(elements(node.in(0))) result;
  for (const std::size_t input : inputs) {
    const auto each = elements(node.in(input));
    const auto steps = broadcast_strides(node.in(input).shape, shape);
    result.resize(element_count(shape));
    std::size_t i = 0;
    for (Odometer at(shape); !at.done(); at.next(), ++i) {
      const auto next = each[at.offset(steps)];
      result[i] = input == 0 ? next : fold(result[i], next);
    }
  }
  return one(array_from(result, shape, node.in(0).dtype));
}

Status check_inputs(const NodeCall& node) {
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    HEADWISE_TRY(check_each(node, i));
  }
  return ok();
}

template <bool largest>
Result<Outputs> run_extreme(const NodeCall& node) {
  const DType dtype = node.in(0).dtype;
  HEADWISE_TRY(check_numbers(node));
  HEADWISE_TRY(check_inputs(node));
  const auto fold = [&](auto a, auto b) {
    return extreme_of(a, b, largest, dtype);
  };
  return is_floating(dtype) ? folded(node, doubles_of, fold)
                            : folded(node, integers_of, fold);
}

Result<Outputs> run_sum(const NodeCall& node) {
  HEADWISE_TRY(check_floating(node, 0));
  HEADWISE_TRY(check_inputs(node));
  return folded(node, doubles_of, std::plus<>());
}

}  // namespace

std::vector<OnnxOperator> variadic_operators() {
  return {
      {"Max", 13, 1, kAnyNumber, 1, {}, run_extreme<true>},
      {"Min", 13, 1, kAnyNumber, 1, {}, run_extreme<false>},
      {"Sum", 13, 1, kAnyNumber, 1, {}, run_sum},
  };
}

}  // namespace headwise::inline HEADWISE_ABI
