// Elements of arrays as numbers: floating-point types as double, which holds
// each of them exactly, and integers as int64 (uint64 as the same bits).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/interop/array.h"

namespace headwise::inline HEADWISE_ABI {

constexpr bool is_floating(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16 ||
         dtype == DType::float32 || dtype == DType::float64;
}
constexpr bool is_integer(DType dtype) {
  return !is_floating(dtype) && dtype != DType::boolean;
}

// These vectors are taken from the memory of the node that runs.
//
// Of any type; true is 1.
std::vector<double> doubles_of(const Array& array);
// Of integers and booleans.
std::vector<std::int64_t> integers_of(const Array& array);

// Towards 0, for an integer type: its nearest end beyond its range, 0 for NaN.
// Of uint64 the bits.
std::int64_t whole(double number, DType dtype);

// The nearest number of a type; beyond its range infinity. Of floating-point
// types.
double rounded(double number, DType dtype);
void round_all(std::span<double> numbers, DType dtype);

// Writes numbers into an array from an element on, each rounded once to its
// floating-point type.
void store(std::span<const double> numbers, Array& into, std::size_t first);
// The same for an integer type, each modulo its range.
void store(std::span<const std::int64_t> numbers, Array& into,
           std::size_t first);

// Each number rounded once, to a floating-point type.
Result<Array> array_from(std::span<const double> numbers,
                         std::vector<std::size_t> shape, DType dtype);
// Each number modulo the range of an integer type, as C does; 0 is false.
Result<Array> array_from(std::span<const std::int64_t> numbers,
                         std::vector<std::size_t> shape, DType dtype);

// Takes memory for that many elements of 8 bytes from the node that runs, for a
// vector that is made next. Errors: out_of_memory.
Status check_size(std::span<const std::size_t> shape);

}  // namespace headwise::inline HEADWISE_ABI
