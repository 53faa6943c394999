// Operators whose results are true or false: Equal, Less, LessOrEqual, Greater,
// GreaterOrEqual; And, Or, Xor, Not; IsNaN.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "onnx/broadcast.h"
#include "onnx/node_memory.h"
#include "onnx/numbers.h"
#include "onnx/operators.h"
#include "onnx/pairs.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

template <class Compare>
Result<Outputs> compared(const NodeCall& node) {
  const Compare compare;
  const DType dtype = node.in(0).dtype;
  HEADWISE_TRY(check_same_type(node));
  HEADWISE_ASSIGN(auto shape,
                  broadcast_shape(node, std::array<std::size_t, 2>{0, 1}));
  if (is_floating(dtype)) {
    return one(combined(node, std::move(shape), doubles_of(node.in(0)),
                        doubles_of(node.in(1)), DType::boolean, compare));
  }
  const auto a = integers_of(node.in(0));
  const auto b = integers_of(node.in(1));
  if (dtype == DType::uint64) {
    return one(combined(node, std::move(shape), a, b, DType::boolean,
                        [compare](std::int64_t x, std::int64_t y) {
                          return compare(static_cast<std::uint64_t>(x),
                                         static_cast<std::uint64_t>(y));
                        }));
  }
  return one(combined(node, std::move(shape), a, b, DType::boolean, compare));
}

template <class Compare>
Result<Outputs> ordered(const NodeCall& node) {
  HEADWISE_TRY(check_numbers(node));
  return compared<Compare>(node);
}

template <class Combine>
Result<Outputs> joined(const NodeCall& node) {
  HEADWISE_TRY(check_type(node, 0, DType::boolean));
  return compared<Combine>(node);
}

Result<Outputs> run_not(const NodeCall& node) {
  HEADWISE_TRY(check_type(node, 0, DType::boolean));
  std::vector<std::int64_t> flags = integers_of(node.in(0));
  for (std::int64_t& flag : flags) {
    flag = 1 - flag;
  }
  return one(array_from(flags, node.in(0).shape, DType::boolean));
}

Result<Outputs> run_is_nan(const NodeCall& node) {
  HEADWISE_TRY(check_floating(node, 0));
  const std::vector<double> numbers = doubles_of(node.in(0));
  auto flags = NodeMemory::numbers<std::int64_t>(numbers.size());
  std::ranges::transform(numbers, flags.begin(), [](double number) {
    return std::int64_t{std::isnan(number)};
  });
  return one(array_from(flags, node.in(0).shape, DType::boolean));
}

}  // namespace

std::vector<OnnxOperator> logic_operators() {
  return {
      {"And", 13, 2, 2, 1, {}, joined<std::logical_and<>>},
      {"Equal", 13, 2, 2, 1, {}, compared<std::equal_to<>>},
      {"Greater", 13, 2, 2, 1, {}, ordered<std::greater<>>},
      {"GreaterOrEqual", 13, 2, 2, 1, {}, ordered<std::greater_equal<>>},
      {"IsNaN", 13, 1, 1, 1, {}, run_is_nan},
      {"Less", 13, 2, 2, 1, {}, ordered<std::less<>>},
      {"LessOrEqual", 13, 2, 2, 1, {}, ordered<std::less_equal<>>},
      {"Not", 13, 1, 1, 1, {}, run_not},
      {"Or", 13, 2, 2, 1, {}, joined<std::logical_or<>>},
      {"Xor", 13, 2, 2, 1, {}, joined<std::not_equal_to<>>},
  };
}

}  // namespace headwise::inline HEADWISE_ABI
