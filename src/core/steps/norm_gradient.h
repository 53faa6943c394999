// The backward pass of a norm over rows of features, of which a token may have
// several: that of layer normalisation and of the norms of queries and keys.
#pragma once

#include <cstdint>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "kernels/layer_norm.h"

namespace headwise::inline HEADWISE_ABI {

// E features in each of a token's rows, side by side in memory.
struct NormedRows {
  TensorView<const float, 4> x;    // (B, L, rows, E)
  TensorView<const float, 4> d_y;  // (B, L, rows, E)
  TensorView<float, 4> d_x;        // (B, L, rows, E); may be d_y
  // As for for_each_token_block().
  TensorView<const std::int64_t, 1> offsets{};
};

struct NormGradients {
  Tensor<float, 1> weight;
  Tensor<float, 1> bias;
};

// Writes d_x. The parameters' gradients have E elements, which all rows of a
// token share, or rows * E if `own_params`: terms.weight then has as many.
// Errors: out_of_memory, for the gradients and the sums of at most 256 blocks.
Result<NormGradients> differentiate_norm(const kernels::LayerNormTerms& terms,
                                         bool own_params,
                                         const NormedRows& rows,
                                         const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI
