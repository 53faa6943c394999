// The hidden states of a sentence's tokens -> its embedding.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headwise/base/tensor_view.h"
#include "headwise/models/model_settings.h"

namespace headwise::inline HEADWISE_ABI {

// hidden (tokens, E), at least one -> E numbers for each pooling. A mean is the
// sum over the tokens in their order, divided by their number.
std::vector<float> pool(TensorView<const float, 2> hidden,
                        std::span<const Pooling> pooling);

// The way back: of d_y, the gradient of a loss by these numbers, d_hidden
// (tokens, E). A maximum is its first token's.
void pool_backward(TensorView<const float, 2> hidden,
                   std::span<const Pooling> pooling, std::span<const float> d_y,
                   TensorView<float, 2> d_hidden);

// Divides by the Euclidean norm, or by 1e-12 where that is larger.
void divide_by_length(std::span<float> y);

// The way back: y being the embedding before it was divided and e after,
//
//   d_y = (d_e - e * sum(e * d_e)) / max(|y|, 1e-12)
//
// and d_e / 1e-12 where |y| is smaller.
std::vector<float> back_through_length(std::vector<float> y,
                                       std::span<const float> d_e);

// sum_i x_i * y_i, as docs/arithmetic.md sums over the features of a row.
float dot(std::span<const float> x, std::span<const float> y);

}  // namespace headwise::inline HEADWISE_ABI
