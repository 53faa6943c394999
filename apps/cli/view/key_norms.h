// How much each key can add to the output of a layer that a command looks at.
#pragma once

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/run/executor.h"
#include "viewed_heads.h"

namespace headwise::cli {

// (1, Hq, Lkv): see heads/value_norms.h; 0 for an ablated head. The layer is
// one of a text in a model and has heads. Errors: out_of_memory.
Result<Tensor<float, 3>> key_norms_of(const ViewedLayer& layer,
                                      const Executor& executor);

}  // namespace headwise::cli
