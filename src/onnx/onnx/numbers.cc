#include "onnx/numbers.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "headwise/base/checked_product.h"
#include "headwise/base/half.h"
#include "interop/with_type.h"
#include "onnx/node_memory.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

template <class T>
T element(const Array& array, std::size_t i) {
  T value;
  std::memcpy(&value, array.data.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void set(Array& array, std::size_t i, T value) {
  std::memcpy(array.data.data() + i * sizeof(T), &value, sizeof(T));
}

double number(Float16 x) { return widened(x); }
double number(BFloat16 x) { return widened(x); }
template <class T>
double number(T x) {
  return static_cast<double>(x);
}

std::int64_t as_whole(Float16 /*x*/) { return 0; }  // never asked for
std::int64_t as_whole(BFloat16 /*x*/) { return 0; }
template <class T>
std::int64_t as_whole(T x) {
  return static_cast<std::int64_t>(x);
}

struct Range {
  std::int64_t low;
  std::int64_t high;
};

Range range_of_type(DType dtype) {
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

// One that a type of 16 bits rounds as it would the number itself: of the two
// neighbours of a number between them, the one whose last bit is 1.
float number_to_round_again(double number) {
  const auto near = static_cast<float>(number);
  const auto bits = std::bit_cast<std::uint32_t>(near);
  // Beside the smallest normal number is one that would become 0.
  if (static_cast<double>(near) == number || !std::isfinite(near) ||
      std::abs(near) <= std::numeric_limits<float>::min() || bits % 2 == 1) {
    return near;
  }
  const bool beyond = std::abs(static_cast<double>(near)) > std::abs(number);
  return std::bit_cast<float>(beyond ? bits - 1 : bits + 1);
}

}  // namespace

Status check_size(std::span<const std::size_t> shape) {
  std::vector<std::size_t> factors(shape.begin(), shape.end());
  factors.push_back(sizeof(double));
  return NodeMemory::take(checked_product(factors).value_or(
      std::numeric_limits<std::size_t>::max()));
}

std::vector<double> doubles_of(const Array& array) {
  auto numbers = NodeMemory::numbers<double>(element_count(array.shape));
  with_type(array.dtype, [&](auto stored) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = number(element<decltype(stored)>(array, i));
    }
  });
  return numbers;
}

std::vector<std::int64_t> integers_of(const Array& array) {
  auto numbers = NodeMemory::numbers<std::int64_t>(element_count(array.shape));
  with_type(array.dtype, [&](auto stored) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = as_whole(element<decltype(stored)>(array, i));
    }
  });
  return numbers;
}

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
  const Range range = range_of_type(dtype);
  return number <= static_cast<double>(range.low) ? range.low
         : number >= static_cast<double>(range.high)
             ? range.high
             : static_cast<std::int64_t>(number);
}

double rounded(double number, DType dtype) {
  switch (dtype) {
    case DType::float16:
      return widened(narrowed_to_float16(number_to_round_again(number)));
    case DType::bfloat16:
      return widened(narrowed_to_bfloat16(number_to_round_again(number)));
    case DType::float32:
      return static_cast<double>(static_cast<float>(number));
    default:
      return number;
  }
}

void round_all(std::span<double> numbers, DType dtype) {
  for (double& number : numbers) {
    number = rounded(number, dtype);
  }
}

void store(std::span<const double> numbers, Array& into, std::size_t first) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t at = first + i;
    if (into.dtype == DType::float16) {
      set(into, at, narrowed_to_float16(number_to_round_again(numbers[i])));
    } else if (into.dtype == DType::bfloat16) {
      set(into, at, narrowed_to_bfloat16(number_to_round_again(numbers[i])));
    } else if (into.dtype == DType::float32) {
      set(into, at, static_cast<float>(numbers[i]));
    } else {
      set(into, at, numbers[i]);
    }
  }
}

Result<Array> array_from(std::span<const double> numbers,
                         std::vector<std::size_t> shape, DType dtype) {
  HEADWISE_ASSIGN(auto array, array_of(std::move(shape), dtype));
  store(numbers, array, 0);
  return array;
}

void store(std::span<const std::int64_t> numbers, Array& into,
           std::size_t first) {
  const std::size_t item = size_of(into.dtype);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::int64_t stored = into.dtype == DType::boolean
                                    ? std::int64_t{numbers[i] != 0}
                                    : numbers[i];
    // Little endian: the first bytes are the number modulo its range.
    std::memcpy(into.data.data() + (first + i) * item, &stored, item);
  }
}

Result<Array> array_from(std::span<const std::int64_t> numbers,
                         std::vector<std::size_t> shape, DType dtype) {
  HEADWISE_ASSIGN(auto array, array_of(std::move(shape), dtype));
  store(numbers, array, 0);
  return array;
}

}  // namespace headwise::inline HEADWISE_ABI
