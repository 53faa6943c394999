// Cast, CastLike: to another type of number.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "onnx/node_memory.h"
#include "onnx/numbers.h"
#include "onnx/operators.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Whole numbers that double does not hold are those beyond 2^53. Of them it
// gets one that every smaller type rounds alike: what the last bits lose is
// said by one above them.
double integer_to_round_again(std::uint64_t magnitude) {
  constexpr std::uint64_t kLow = 0xfff;
  if (magnitude >= std::uint64_t{1} << 53 && (magnitude & kLow) != 0) {
    magnitude = (magnitude & ~kLow) | 0x800;
  }
  return static_cast<double>(magnitude);
}

// For array_from(): each number is rounded once.
std::vector<double> doubles_for(const Array& x, DType to) {
  if (to == DType::float64 ||
      (x.dtype != DType::int64 && x.dtype != DType::uint64)) {
    return doubles_of(x);
  }
  const std::vector<std::int64_t> wholes = integers_of(x);
  auto numbers = NodeMemory::numbers<double>(wholes.size());
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    const auto bits = static_cast<std::uint64_t>(wholes[i]);
    numbers[i] = x.dtype == DType::int64 && wholes[i] < 0
                     ? -integer_to_round_again(0 - bits)
                     : integer_to_round_again(bits);
  }
  return numbers;
}

Result<Outputs> cast_to(const Array& x, DType to) {
  if (is_floating(to)) {
    return one(array_from(doubles_for(x, to), x.shape, to));
  }
  if (!is_floating(x.dtype)) {
    return one(array_from(integers_of(x), x.shape, to));
  }
  const std::vector<double> numbers = doubles_of(x);
  auto wholes = NodeMemory::numbers<std::int64_t>(numbers.size());
  std::ranges::transform(numbers, wholes.begin(), [to](double each) {
    return to == DType::boolean ? std::int64_t{each != 0} : whole(each, to);
  });
  return one(array_from(wholes, x.shape, to));
}

Result<Outputs> run_cast(const NodeCall& node) {
  HEADWISE_ASSIGN(const auto number, node.integer("to", 0));
  const auto to = dtype_of_onnx(number);
  if (!to) {
    return node.attribute("to").error(
        ErrorCode::unsupported, message("is {}", onnx_type_name(number)),
        "bool, integers or floating-point numbers");
  }
  return cast_to(node.in(0), *to);
}

Result<Outputs> run_cast_like(const NodeCall& node) {
  return cast_to(node.in(0), node.in(1).dtype);
}

}  // namespace

std::vector<OnnxOperator> cast_operators() {
  return {
      {"Cast", 13, 1, 1, 1, {"round_mode", "saturate", "to"}, run_cast},
      {"CastLike", 15, 2, 2, 1, {"round_mode", "saturate"}, run_cast_like},
  };
}

}  // namespace headwise::inline HEADWISE_ABI
