#include "attention/log2_sum.h"

#include <cmath>

#include "attention/log2_domain.h"
#include "base/logarithm.h"
#include "headwise/steps/softmax.h"

namespace headwise::inline HEADWISE_ABI {

float log2_sum(float x) {
  if (std::isinf(x)) {
    return x;
  }
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  const SplitLogarithm log = split_logarithm(static_cast<double>(x));
  return static_cast<float>(log.exponent + log.ln_m * kLog2E);
}

float lse_of(float max, float sum) {
  return sum == 0          ? kMinusInf
         : std::isnan(sum) ? kNaN
                           : kLn2 * (max + log2_sum(sum));
}

}  // namespace headwise::inline HEADWISE_ABI
