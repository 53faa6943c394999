#include "onnx/numbers.h"

#include <cstring>
#include <limits>
#include <utility>

#include "headwise/base/checked_product.h"
#include "headwise/base/half.h"
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

// Calls `visit` with a value of the type that an element is stored as.
template <class Visit>
void with_stored_type(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::boolean:
    case DType::uint8:
      return visit(std::uint8_t{});
    case DType::int8:
      return visit(std::int8_t{});
    case DType::int16:
      return visit(std::int16_t{});
    case DType::uint16:
      return visit(std::uint16_t{});
    case DType::int32:
      return visit(std::int32_t{});
    case DType::uint32:
      return visit(std::uint32_t{});
    case DType::int64:
      return visit(std::int64_t{});
    case DType::uint64:
      return visit(std::uint64_t{});
    case DType::float16:
      return visit(Float16{});
    case DType::bfloat16:
      return visit(BFloat16{});
    case DType::float32:
      return visit(float{});
    case DType::float64:
      return visit(double{});
  }
}

double number(Float16 x) { return widened(x); }
double number(BFloat16 x) { return widened(x); }
template <class T>
double number(T x) {
  return static_cast<double>(x);
}

std::int64_t whole(Float16 /*x*/) { return 0; }  // never asked for
std::int64_t whole(BFloat16 /*x*/) { return 0; }
template <class T>
std::int64_t whole(T x) {
  return static_cast<std::int64_t>(x);
}

}  // namespace

std::size_t element_count(std::span<const std::size_t> shape) {
  std::size_t count = 1;
  for (const std::size_t extent : shape) {
    count *= extent;
  }
  return count;
}

Status check_size(std::span<const std::size_t> shape) {
  std::vector<std::size_t> factors(shape.begin(), shape.end());
  factors.push_back(sizeof(double));
  return checked_product(factors)
             ? ok()
             : Status(Error::no_memory_for(
                   std::numeric_limits<std::uint64_t>::max()));
}

std::vector<double> doubles_of(const Array& array) {
  std::vector<double> numbers(element_count(array.shape));
  with_stored_type(array.dtype, [&](auto stored) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = number(element<decltype(stored)>(array, i));
    }
  });
  return numbers;
}

std::vector<std::int64_t> integers_of(const Array& array) {
  std::vector<std::int64_t> numbers(element_count(array.shape));
  with_stored_type(array.dtype, [&](auto stored) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = whole(element<decltype(stored)>(array, i));
    }
  });
  return numbers;
}

double rounded(double number, DType dtype) {
  switch (dtype) {
    case DType::float16:
      return widened(narrowed_to_float16(static_cast<float>(number)));
    case DType::bfloat16:
      return widened(narrowed_to_bfloat16(static_cast<float>(number)));
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

Result<Array> array_from(std::span<const double> numbers,
                         std::vector<std::size_t> shape, DType dtype) {
  auto array = array_of(std::move(shape), dtype);
  HEADWISE_TRY(array);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto single = static_cast<float>(numbers[i]);
    if (dtype == DType::float16) {
      set(*array, i, narrowed_to_float16(single));
    } else if (dtype == DType::bfloat16) {
      set(*array, i, narrowed_to_bfloat16(single));
    } else if (dtype == DType::float32) {
      set(*array, i, single);
    } else {
      set(*array, i, numbers[i]);
    }
  }
  return array;
}

Result<Array> array_from(std::span<const std::int64_t> numbers,
                         std::vector<std::size_t> shape, DType dtype) {
  auto array = array_of(std::move(shape), dtype);
  HEADWISE_TRY(array);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::int64_t stored =
        dtype == DType::boolean ? std::int64_t{numbers[i] != 0} : numbers[i];
    // Little endian: the first bytes are the number modulo its range.
    std::memcpy(array->data.data() + i * size_of(dtype), &stored,
                size_of(dtype));
  }
  return array;
}

}  // namespace headwise::inline HEADWISE_ABI
