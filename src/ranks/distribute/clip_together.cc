#include "distribute/clip_together.h"

#include <cmath>
#include <cstddef>

#include "module/gradient_norm.h"
#include "run/float_environment.h"

namespace headwise::internal::inline HEADWISE_ABI {

namespace {

// The sum of squares of all gradients, in their order. It goes from rank to
// rank as the order of the rows demands, and from the last to all.
Result<double> sum_squares(Communicator& group,
                           std::span<const std::span<float>> first,
                           const ParamShards& shards,
                           std::span<const Tensor<float, 1>> own) {
  double sum = 0;
  const auto bytes = std::as_writable_bytes(std::span(&sum, 1));
  for (const std::span<float> gradient : first) {
    sum = add_squares(sum, gradient);
  }
  std::size_t at = 0;  // the rank that has the sum
  for (std::size_t n = 0; n < own.size(); ++n) {
    for (std::size_t rank = 0; rank < group.ranks(); ++rank) {
      if (shards.rows(rank, n).count == 0) {
        continue;
      }
      if (group.rank() == at && rank != at) {
        HEADWISE_TRY(group.send(bytes, rank));
      }
      if (group.rank() == rank) {
        HEADWISE_TRY(rank != at ? group.receive(bytes, at) : ok());
        sum = add_squares(sum, own[n].elements());
      }
      at = rank;
    }
  }
  HEADWISE_TRY(group.broadcast(bytes, at));
  return sum;
}

}  // namespace

Result<double> clip_together(Communicator& group,
                             std::span<const std::span<float>> first,
                             const ParamShards& shards,
                             std::span<Tensor<float, 1>> own, double max_norm) {
  const FloatEnvironment environment;
  HEADWISE_ASSIGN(const auto sum, sum_squares(group, first, shards, own));
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

}  // namespace headwise::internal::inline HEADWISE_ABI
