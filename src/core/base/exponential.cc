#include "base/exponential.h"

#include <bit>
#include <cstdint>

namespace headwise::internal::inline HEADWISE_ABI {

double exponential(double x) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  // ln 2 in two parts: the first times a whole number below 2^11 is exact.
  constexpr double kLn2High = 0x1.62e42fee00000p-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kLowest = -708;  // 2^-1021.4: no denormal numbers
  if (!(x >= kLowest)) {
    return x < kLowest ? 0 : x;
  }
  const auto halvings = static_cast<std::int64_t>(0.5 - x * kLog2E);
  const auto n = static_cast<double>(halvings);
  const double r = (x + n * kLn2High) + n * kLn2Low;  // |r| <= ln 2 / 2
  double series = 1;
  for (int k = 14; k >= 1; --k) {  // (ln 2 / 2)^15 / 15! < 2^-62
    series = 1 + series * r / k;
  }
  constexpr std::int64_t kBias = 1023;
  constexpr int kMantissaBits = 52;
  return series * std::bit_cast<double>((kBias - halvings) << kMantissaBits);
}

}  // namespace headwise::internal::inline HEADWISE_ABI
