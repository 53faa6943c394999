// From an element type that is known when a call runs to one in C++.
#pragma once

#include "headwise/base/dtype.h"
#include "headwise/base/half.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

constexpr bool is_narrow(DType dtype) {
  return dtype == DType::bfloat16 || dtype == DType::float16;
}
constexpr bool is_number_type(DType dtype) {
  return dtype == DType::float32 || is_narrow(dtype);
}

// Calls body(T()) for the T of `dtype`: float, BFloat16 or Float16, the types
// that the query, key and value of a call may have.
template <class Body>
decltype(auto) for_number_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::bfloat16:
      return body(BFloat16());
    case DType::float16:
      return body(Float16());
    default:
      return body(float());
  }
}

}  // namespace headwise::inline HEADWISE_ABI
