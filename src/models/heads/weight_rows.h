// The attention weights of a call, a few queries at a time: (B, Hq, rows, Lkv)
// for queries [first, first + rows), so that no matrix of all pairs is kept.
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI {

// An error of `see` ends the walk. Errors: those of attention() and of `see`.
Status for_weight_rows(
    TensorView<const float, 4> query, TensorView<const float, 4> key,
    const AttentionOptions& options, const OperationOptions& operation_options,
    FunctionRef<Status(std::size_t first, TensorView<const float, 4> weights)>
        see);

}  // namespace headwise::inline HEADWISE_ABI
