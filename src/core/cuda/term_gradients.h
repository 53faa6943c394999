// The gradients of the terms added to the scores: a dense bias and ALiBi's
// slopes. Pair by pair, in float32, without the matrix units.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/call.h"
#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI::cuda {

struct TermGradientRun {
  Call call;
  TensorView<const std::byte, 4> query;
  TensorView<const std::byte, 4> key;
  TensorView<const std::byte, 4> value;
  TensorView<const std::byte, 4> d_output;
  float* lse;    // (B, Hq, rows), as the backward kernels left them
  float* delta;  // (B, Hq, rows)
  float* sums;   // (B, Hq, rows), to compute in; only for slopes
  int rows;
  TensorView<float, 4> d_bias;  // extent 1 where broadcast; no view: not wanted
  TensorView<float, 1> d_slopes;
  cudaStream_t stream;
};

Status launch_term_gradients(DType dtype, const TermGradientRun& run);

}  // namespace headwise::inline HEADWISE_ABI::cuda
