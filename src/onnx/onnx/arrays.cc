#include "headwise/onnx/arrays.h"

#include <cmath>
#include <new>
#include <string>

#include "base/check.h"
#include "onnx/numbers.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// NaN for a number and a NaN, infinity for a number and an infinity.
double distance(double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) {
    return 0;
  }
  return std::abs(got - want);
}

std::vector<std::size_t> indices_of(std::size_t element,
                                    const std::vector<std::size_t>& shape) {
  std::vector<std::size_t> at(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    at[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return at;
}

}  // namespace

Result<Array> rounded_to(const Array& array, DType dtype) try {
  if (!is_floating(dtype)) {
    return argument_error("rounded_to", "dtype",
                          message("is {}", name_of(dtype)),
                          "floating-point numbers", ErrorCode::unsupported);
  }
  return array_from(doubles_of(array), array.shape, dtype);
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

Result<ArrayDifference> difference(const Array& got, const Array& want,
                                   const Tolerance& tolerance) try {
  ArrayDifference result;
  if (got.dtype != want.dtype || got.shape != want.shape) {
    result.same_kind = false;
    return result;
  }
  const std::vector<double> mine = doubles_of(got);
  const std::vector<double> theirs = doubles_of(want);
  result.elements = mine.size();
  bool largest_differs = false;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const double apart = distance(mine[i], theirs[i]);
    const double allowed =
        tolerance.absolute + tolerance.relative * std::abs(theirs[i]);
    // NaN and infinity are distances that are not allowed, and a NaN that was
    // expected allows no other.
    const bool differs =
        apart != 0 && (!(apart <= allowed) || std::isinf(apart));
    result.differing += differs ? 1 : 0;
    const bool larger = apart > result.largest ||
                        (std::isnan(apart) && !std::isnan(result.largest));
    if (i == 0 || (differs && !largest_differs) ||
        (differs == largest_differs && larger)) {
      largest_differs = differs;
      result.largest = apart;
      result.at = indices_of(i, got.shape);
      result.got = mine[i];
      result.want = theirs[i];
    }
  }
  return result;
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

}  // namespace headwise::inline HEADWISE_ABI
