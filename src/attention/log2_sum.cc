#include "attention/log2_sum.h"

#include <cmath>

namespace headwise {

// x = m * 2^e with m in [sqrt(1/2), sqrt(2)); log2 m = 2 log2(e) artanh(s) with
// s = (m - 1) / (m + 1), |s| < 0.172, as a power series.
float log2_sum(float x) {
  if (std::isinf(x)) {
    return x;
  }
  constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
  constexpr double kTwoLog2E = 0x1.71547652b82fep+1;
  int exponent = 0;
  double m = std::frexp(static_cast<double>(x), &exponent);  // exact
  if (m < kSqrtHalf) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double series = 0;
  for (int k = 17; k >= 1; k -= 2) {  // the next term is below 2^-48
    series = series * square + 1.0 / k;
  }
  return static_cast<float>(exponent + kTwoLog2E * s * series);
}

}  // namespace headwise
