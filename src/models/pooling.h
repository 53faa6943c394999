// The hidden states of a sentence's tokens -> its embedding.
#pragma once

#include <cstddef>
#include <span>

#include "headwise/base/tensor_view.h"
#include "headwise/models/model_settings.h"

namespace headwise {

// hidden (tokens, E), at least one -> `to`, E numbers for each pooling. A mean
// is the sum over the tokens in their order, divided by their number; with
// `normalize` all of it is divided by its Euclidean norm, or by 1e-12 where
// that is larger. The squares are summed as docs/arithmetic.md sums over the
// features of a row.
void pool(TensorView<const float, 2> hidden, std::span<const Pooling> pooling,
          bool normalize, float* to);

}  // namespace headwise
