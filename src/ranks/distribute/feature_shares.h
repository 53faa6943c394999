// The features of projections, divided among ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headwise/base/arithmetic.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/steps/projection.h"
#include "steps/call_part.h"

namespace headwise::inline HEADWISE_ABI {

// Shares of whole strips of a packed weight; the first ranks get one if there
// are too few.
std::vector<PartRange> feature_ranges(std::size_t features, std::size_t ranks);

// The gradients of the parameters of some output features, in the arithmetic of
// the projection. `d_y` has all of them, as a token counts if one of its d_y
// does. Errors: out_of_memory.
Result<LinearGradients> gradients_of_features(
    TensorView<const float, 3> x, TensorView<const float, 3> d_y,
    const PartRange& features, bool with_bias, Arithmetic arithmetic,
    TensorView<const std::int64_t, 1> offsets, const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI
