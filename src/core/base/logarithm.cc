#include "base/logarithm.h"

#include <cmath>

namespace headwise::internal::inline HEADWISE_ABI {

// ln m = 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.172, as a power series.
SplitLogarithm split_logarithm(double x) {
  constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // exact
  if (m < kSqrtHalf) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double series = 0;
  for (int k = 23; k >= 1; k -= 2) {  // the next term is below 2^-60
    series = series * square + 1.0 / k;
  }
  return {exponent, 2 * s * series};
}

}  // namespace headwise::internal::inline HEADWISE_ABI
