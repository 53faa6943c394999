#include "transformer/convolution.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "headwise/steps/activation.h"
#include "run/float_environment.h"
#include "transformer/pass_parts.h"

namespace headwise::inline HEADWISE_ABI::transformer {

Status activate_convolution(const ConvolutionSpec& spec, Rows& x,
                            const Executor& executor) {
  if (spec.activation) {
    return activate(*spec.activation, rows_of(std::as_const(x)),
                    rows_of(x.view()), executor);
  }
  const FloatEnvironment environment;
  std::ranges::transform(x.elements(), x.data(),
                         [](float e) { return std::tanh(e); });
  return ok();
}

Status activate_convolution_backward(const ConvolutionSpec& spec, const Rows& x,
                                     const Rows& y, Rows& d,
                                     const Executor& executor) {
  if (spec.activation) {
    return activate_backward(*spec.activation, rows_of(x),
                             rows_of(std::as_const(d)), rows_of(d.view()),
                             executor);
  }
  const FloatEnvironment environment;
  std::transform(y.data(), y.data() + y.size(), d.data(), d.data(),
                 [](float t, float g) { return g * (1 - t * t); });
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
