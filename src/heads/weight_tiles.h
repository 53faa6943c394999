// The attention weights of a layer's heads, a few queries at a time.
#pragma once

#include <cstddef>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"

namespace headwise::inline HEADWISE_ABI {

// The queries [first, first + weights.extent(2)) of all heads: (1, Hq, queries,
// L).
using SeeWeights =
    FunctionRef<void(std::size_t first, TensorView<const float, 4> weights)>;

// query (1, L, Hq, D), key (1, L, Hkv, D). The weights have the bits of a call
// with all queries. Errors: those of attention().
Status visit_weights(TensorView<const float, 4> query,
                     TensorView<const float, 4> key, bool causal,
                     const Executor& executor, SeeWeights see);

}  // namespace headwise::inline HEADWISE_ABI
