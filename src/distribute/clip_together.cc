#include "distribute/clip_together.h"

#include <cmath>

#include "module/gradient_norm.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {

Result<double> clip_together(Communicator& group,
                             std::span<const std::span<float>> first,
                             std::span<Tensor<float, 1>> own, double max_norm) {
  const FloatEnvironment environment;
  double sum = 0;
  const auto bytes = std::as_writable_bytes(std::span(&sum, 1));
  if (group.rank() != 0) {
    HEADWISE_TRY(group.receive(bytes, group.rank() - 1));
  } else {
    for (const std::span<float> gradient : first) {
      sum = add_squares(sum, gradient);
    }
  }
  for (const Tensor<float, 1>& gradient : own) {
    sum = add_squares(sum, gradient.elements());
  }
  const std::size_t last = group.ranks() - 1;
  if (group.rank() != last) {
    HEADWISE_TRY(group.send(bytes, group.rank() + 1));
  }
  HEADWISE_TRY(group.broadcast(bytes, last));
  const double norm = std::sqrt(sum);
  const double factor = clip_factor(norm, max_norm);
  if (factor < 1) {
    for (const std::span<float> gradient : first) {
      scale_gradient(gradient, factor);
    }
    for (Tensor<float, 1>& gradient : own) {
      scale_gradient(gradient.elements(), factor);
    }
  }
  return norm;
}

}  // namespace headwise::inline HEADWISE_ABI
