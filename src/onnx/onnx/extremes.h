// The larger or the smaller of two elements.
#pragma once

#include <cmath>
#include <cstdint>

#include "headwise/base/dtype.h"

namespace headwise::inline HEADWISE_ABI {

// NaN if one is.
inline double extreme_of(double a, double b, bool largest,
                         DType /*dtype*/ = DType::float64) {
  if (std::isnan(a) || std::isnan(b)) {
    return a + b;
  }
  return (largest ? a < b : b < a) ? b : a;
}

// Elements of `dtype`, of uint64 as their bits.
inline std::int64_t extreme_of(std::int64_t a, std::int64_t b, bool largest,
                               DType dtype) {
  const bool less = dtype == DType::uint64 ? static_cast<std::uint64_t>(a) <
                                                 static_cast<std::uint64_t>(b)
                                           : a < b;
  return less == largest ? b : a;
}

}  // namespace headwise::inline HEADWISE_ABI
