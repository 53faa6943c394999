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
Result<Outputs> compared(const NodeCall& node, Compare compare) {
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
Result<Outputs> ordered(const NodeCall& node, Compare compare) {
  HEADWISE_TRY(check_numbers(node));
  return compared(node, compare);
}

template <class Combine>
Result<Outputs> joined(const NodeCall& node, Combine combine) {
  HEADWISE_TRY(check_type(node, 0, DType::boolean));
  return compared(node, combine);
}

}  // namespace

Result<Outputs> run_equal(const NodeCall& node) {
  return compared(node, std::equal_to<>());
}

Result<Outputs> run_less(const NodeCall& node) {
  return ordered(node, std::less<>());
}

Result<Outputs> run_less_or_equal(const NodeCall& node) {
  return ordered(node, std::less_equal<>());
}

Result<Outputs> run_greater(const NodeCall& node) {
  return ordered(node, std::greater<>());
}

Result<Outputs> run_greater_or_equal(const NodeCall& node) {
  return ordered(node, std::greater_equal<>());
}

Result<Outputs> run_and(const NodeCall& node) {
  return joined(node, std::logical_and<>());
}

Result<Outputs> run_or(const NodeCall& node) {
  return joined(node, std::logical_or<>());
}

Result<Outputs> run_xor(const NodeCall& node) {
  return joined(node, std::not_equal_to<>());
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

}  // namespace headwise::inline HEADWISE_ABI
