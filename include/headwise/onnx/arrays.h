// Arrays for a model: converted to the types that it declares, and compared
// with the expected outputs.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The same numbers, each rounded once to the floating-point type `dtype`.
// Errors: unsupported for other types; out_of_memory.
Result<Array> rounded_to(const Array& array, DType dtype);

// How far an array is from the expected one. Two elements agree if |got - want|
// <= absolute + relative * |want|, both are NaN, or both the same infinity.
struct ArrayDifference {
  bool same_kind = true;  // same type and shape; else nothing is compared
  std::size_t elements = 0;
  std::size_t differing = 0;
  // Of the elements that differ; of all, where none does. Infinite or NaN if
  // only one of two elements is.
  double largest = 0;
  std::vector<std::size_t> at{};  // the index of the largest difference
  double got = 0;
  double want = 0;

  bool agrees() const { return same_kind && differing == 0; }
};

struct Tolerance {
  double relative = 1e-3;  // both as in ONNX's node tests
  double absolute = 1e-7;
};

// Errors: out_of_memory.
Result<ArrayDifference> difference(const Array& got, const Array& want,
                                   const Tolerance& tolerance);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
