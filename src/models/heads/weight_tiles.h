// The attention weights of a layer's heads, a few queries at a time.
#pragma once

#include <cstddef>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"

namespace headwise::inline HEADWISE_ABI {

// The queries of a tile of attention().
inline constexpr std::size_t kTileQueries = 48;

// Of the queries [first, first + count): (1, Hq, count, L), with the bits of a
// call with all queries; in `memory` if that is large enough. query (1, L, Hq,
// D), key (1, L, Hkv, D). Errors: those of attention().
Result<Tensor<float, 4>> weights_of_queries(TensorView<const float, 4> query,
                                            TensorView<const float, 4> key,
                                            bool causal, std::size_t first,
                                            std::size_t count,
                                            const Executor& executor,
                                            Tensor<float, 4> memory = {});

// The queries [first, first + weights.extent(2)) of all heads: (1, Hq, queries,
// L).
using SeeWeights =
    FunctionRef<void(std::size_t first, TensorView<const float, 4> weights)>;

// All queries, tile by tile. Errors: those of weights_of_queries().
Status visit_weights(TensorView<const float, 4> query,
                     TensorView<const float, 4> key, bool causal,
                     const Executor& executor, SeeWeights see);

}  // namespace headwise::inline HEADWISE_ABI
