// The key head that each query head reads.
#pragma once

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/head_groups.h"

namespace headwise::inline HEADWISE_ABI {

// x (B, L, Hkv, D) of groups that are not even -> (B, L, Hq, D). Errors:
// out_of_memory.
Result<Tensor<float, 4>> key_head_of_each(TensorView<const float, 4> x,
                                          const HeadGroups& groups);

}  // namespace headwise::inline HEADWISE_ABI
