// Cast: to another type of number. A number beyond the range of an integer type
// becomes its nearest end, NaN becomes 0.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "onnx/numbers.h"
#include "onnx/operators.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

struct Range {
  std::int64_t low;
  std::int64_t high;
};

Range range_of(DType dtype) {
  const int bits = static_cast<int>(8 * size_of(dtype));
  switch (dtype) {
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
      return {0, (std::int64_t{1} << bits) - 1};
    case DType::int8:
    case DType::int16:
    case DType::int32:
      return {-(std::int64_t{1} << (bits - 1)),
              (std::int64_t{1} << (bits - 1)) - 1};
    default:
      return {std::numeric_limits<std::int64_t>::min(),
              std::numeric_limits<std::int64_t>::max()};
  }
}

// Towards 0. Of uint64 the bits.
std::int64_t whole(double number, DType dtype) {
  if (std::isnan(number)) {
    return 0;
  }
  if (dtype == DType::uint64) {
    return number <= 0 ? 0
           : number >= 0x1p64
               ? -1
               : static_cast<std::int64_t>(static_cast<std::uint64_t>(number));
  }
  const Range range = range_of(dtype);
  return number <= static_cast<double>(range.low) ? range.low
         : number >= static_cast<double>(range.high)
             ? range.high
             : static_cast<std::int64_t>(number);
}

}  // namespace

Result<Outputs> run_cast(const NodeCall& node) {
  const Array& x = node.in(0);
  const auto number = node.integer("to", 0);
  HEADWISE_TRY(number);
  const auto to = dtype_of_onnx(*number);
  if (!to) {
    return node.attribute("to").error(
        ErrorCode::unsupported, "is " + onnx_type_name(*number),
        "bool, integers or floating-point numbers");
  }
  if (is_floating(*to)) {
    return one(array_from(doubles_of(x), x.shape, *to));
  }
  if (!is_floating(x.dtype)) {
    return one(array_from(integers_of(x), x.shape, *to));
  }
  std::vector<std::int64_t> wholes;
  for (const double each : doubles_of(x)) {
    wholes.push_back(*to == DType::boolean ? std::int64_t{each != 0}
                                           : whole(each, *to));
  }
  return one(array_from(wholes, x.shape, *to));
}

}  // namespace headwise::inline HEADWISE_ABI
