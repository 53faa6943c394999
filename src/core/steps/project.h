// Several projections of one input in one pass over it.
#pragma once

#include <cstddef>
#include <span>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/steps/projection.h"

namespace headwise::inline HEADWISE_ABI {

// One of the projections and where it goes.
struct Projection {
  const Linear* linear = nullptr;
  TensorView<float, 3> y{};  // (B, L, out_features), in C order
};

// y = linear x for every projection; x (B, L, in_features), any strides. If
// `ends` (B) is given, only the tokens below ends[b] are projected and the rest
// are 0: no query sees them. Sizes must have been checked. Errors:
// out_of_memory, for the rounded x of projections in bfloat16.
Status project(TensorView<const float, 3> x,
               std::span<const Projection> projections,
               std::span<const std::size_t> ends, const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI
