// clip_gradient_norm() of gradients that are divided among ranks.
#pragma once

#include <span>

#include "distribute/param_shards.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// The gradients in their order: those of `first`, which every rank has, then
// those of the parameters of `shards`, of which `own` has the rank's rows. All
// are finite numbers. Returns the norm before. Errors: rank_failure.
Result<double> clip_together(Communicator& group,
                             std::span<const std::span<float>> first,
                             const ParamShards& shards,
                             std::span<Tensor<float, 1>> own, double max_norm);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
