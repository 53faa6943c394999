// Arrays next to a model: converted to the types that it declares, and compared
// with what it should give.
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

// The same numbers, each rounded once to a floating-point type. Errors:
// unsupported for another type; out_of_memory.
Result<Array> rounded_to(const Array& array, DType dtype);

// How far an array is from the expected one. Two elements agree if |got - want|
// <= absolute + relative * |want|, both are NaN, or both the same infinity.
struct ArrayDifference {
  bool same_kind = true;  // type and shape; nothing else is compared without it
  std::size_t elements = 0;
  std::size_t differing = 0;
  double largest = 0;  // of all elements; infinite or NaN where only one is
  std::vector<std::size_t> at{};  // of the largest
  double got = 0;
  double want = 0;

  bool agrees() const { return same_kind && differing == 0; }
};

struct Tolerance {
  double relative = 1e-3;  // those of ONNX's node tests
  double absolute = 1e-7;
};

// Errors: out_of_memory.
Result<ArrayDifference> difference(const Array& got, const Array& want,
                                   const Tolerance& tolerance);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
