// Several projections of one input in one pass over it.
#pragma once

#include <cstddef>
#include <span>

#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/steps/projection.h"

namespace headwise::inline HEADWISE_ABI {

// One of the projections and where it goes.
struct Projection {
  const Linear* linear = nullptr;
  TensorView<float, 3> y{};  // (B, L, out_features), in C order
};

// y = linear x of every projection; x (B, L, in_features), any strides. Where
// `ends` is given (B), only the tokens below ends[b] are projected and those
// behind are 0: nobody sees them. For sizes that were checked.
void project(TensorView<const float, 3> x,
             std::span<const Projection> projections,
             std::span<const std::size_t> ends, const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI
