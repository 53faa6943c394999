#include "headwise/steps/sinks.h"

#include <cmath>
#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/steps/softmax.h"

namespace headwise::inline HEADWISE_ABI {

Result<BoundSinks> BoundSinks::bind(TensorView<const float, 1> sinks,
                                    const CallContext& context) try {
  BoundSinks bound;
  if (sinks.data() == nullptr) {
    return bound;
  }
  const std::size_t Hq = context.shape.Hq;
  HEADWISE_TRY(
      check_shape(context.operation, "sinks", sinks.extents(), "(Hq)", {{Hq}}));
  // Times log2 e they are float32 numbers.
  constexpr float kLargest = 2e38F;
  for (std::size_t h = 0; h < Hq; ++h) {
    if (sinks(h) != kMinusInf && !(std::abs(sinks(h)) <= kLargest)) {
      return value_error(context.operation, "sinks[" + std::to_string(h) + "]",
                         number_text(static_cast<double>(sinks(h))),
                         "a number from -2e38 to 2e38, or -inf for no sink");
    }
  }
  bound.sinks_ = sinks;
  return bound;
} catch (...) {
  return caught_out_of_memory();
}

float BoundSinks::of(std::size_t h) const {
  return given() ? sinks_(h) : kMinusInf;
}

bool BoundSinks::has(std::size_t h) const { return of(h) != kMinusInf; }

}  // namespace headwise::inline HEADWISE_ABI
