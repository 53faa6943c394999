// The natural logarithm in binary64 without a C library: the same bits on every
// machine.
#pragma once

#include "headwise/version.h"

// headwise::io calls it, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// x = m * 2^exponent with m in [sqrt(1/2), sqrt(2)): ln x = ln_m + exponent
// ln 2.
struct SplitLogarithm {
  int exponent;
  double ln_m;
};

// For a finite x > 0.
SplitLogarithm split_logarithm(double x);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop

namespace headwise::inline HEADWISE_ABI {

inline double natural_log(double x) {
  constexpr double kNaturalLogOf2 = 0x1.62e42fefa39efp-1;
  const SplitLogarithm log = split_logarithm(x);
  return log.exponent * kNaturalLogOf2 + log.ln_m;
}

}  // namespace headwise::inline HEADWISE_ABI
