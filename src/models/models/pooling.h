// The hidden states of a sentence's tokens -> its embedding.
#pragma once

#include <cstddef>
#include <span>

#include "headwise/base/tensor_view.h"
#include "headwise/models/model_settings.h"

namespace headwise::inline HEADWISE_ABI {

// hidden (tokens, E), at least one -> `to`, E numbers for each pooling, or the
// first of them where `to` is shorter. A mean
// is the sum over the tokens in their order, divided by their number; with
// `normalize` all of it is divided by its Euclidean norm, or by 1e-12 where
// that is larger. The squares are summed as docs/arithmetic.md sums over the
// features of a row.
void pool(TensorView<const float, 2> hidden, std::span<const Pooling> pooling,
          bool normalize, std::span<float> to);

// The way back: of d_embedding, the gradient of a loss by `to`, d_hidden
// (tokens, E); what `to` lacks has no gradient. A maximum is its first token's.
// With `normalize`, y being the embedding before it was divided and e after,
//
//   d_y = (d_e - e * sum(e * d_e)) / max(|y|, 1e-12)
//
// and d_e / 1e-12 where |y| is smaller. Sums as above.
void pool_backward(TensorView<const float, 2> hidden,
                   std::span<const Pooling> pooling, bool normalize,
                   std::span<const float> d_embedding,
                   TensorView<float, 2> d_hidden);

}  // namespace headwise::inline HEADWISE_ABI
