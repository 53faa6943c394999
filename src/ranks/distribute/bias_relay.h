// The gradient of a bias that all heads share. Each element is a sum over
// sequences, heads and rows in this order (docs/arithmetic.md), so it passes
// through the ranks in the order of their heads, once for each sequence that
// shares it. One rank computes at a time.
#pragma once

#include "distribute/call_by_heads.h"
#include "distribute/head_tensors.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

// The gradient, of the extents of the bias, on the last rank with heads; on the
// others sums of no use. Errors: those of attention_backward(), rank_failure.
template <class T>
Result<Tensor<float, 4>> relay_bias_gradient(Communicator& group,
                                             const CallByHeads& call,
                                             const HeadTensors<T>& own);

}  // namespace headwise::inline HEADWISE_ABI
