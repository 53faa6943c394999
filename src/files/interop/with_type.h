// The C++ type of elements whose type is known when the program runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/base/dtype.h"
#include "headwise/base/half.h"

namespace headwise::inline HEADWISE_ABI {

// visit(T{}) for the type T of the elements; std::byte for bool.
template <class Visit>
auto with_type(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::boolean:
      return visit(std::byte{});
    case DType::int8:
      return visit(std::int8_t{});
    case DType::int16:
      return visit(std::int16_t{});
    case DType::int32:
      return visit(std::int32_t{});
    case DType::int64:
      return visit(std::int64_t{});
    case DType::uint8:
      return visit(std::uint8_t{});
    case DType::uint16:
      return visit(std::uint16_t{});
    case DType::uint32:
      return visit(std::uint32_t{});
    case DType::uint64:
      return visit(std::uint64_t{});
    case DType::float16:
      return visit(Float16{});
    case DType::bfloat16:
      return visit(BFloat16{});
    case DType::float32:
      return visit(float{});
    case DType::float64:
      break;
  }
  return visit(double{});
}

}  // namespace headwise::inline HEADWISE_ABI
