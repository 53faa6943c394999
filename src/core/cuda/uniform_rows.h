// EmptyRow::uniform: a row without a key is the mean of all values of its
// sequence.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/call.h"
#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI::cuda {

// `lse` (B, Hq, Lq) is -inf in the rows that are empty.
Status fill_uniform_rows(const Call& call, DType dtype,
                         const TensorView<const std::byte, 4>& value,
                         const TensorView<std::byte, 4>& output,
                         const TensorView<const float, 3>& lse,
                         cudaStream_t stream);

}  // namespace headwise::inline HEADWISE_ABI::cuda
