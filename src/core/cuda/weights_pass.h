// The outputs besides `output`: attention weights and statistics. A separate
// pass over the pairs, from the saved log-sum-exps; it makes no Lq x Lkv matrix
// unless the weights themselves are requested.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/call.h"
#include "headwise/attention/spec.h"
#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI::cuda {

struct WeightsRun {
  Call call;
  TensorView<const std::byte, 4> query;
  TensorView<const std::byte, 4> key;
  TensorView<const float, 3> lse;
  AttnWeights form = AttnWeights::none;
  TensorView<float, 4> attn_weights;
  StatisticsViews statistics;
  TensorView<const bool, 2> separators;
  int top_keys;
  const int* counted_queries;  // (B)
  const int* first_keys;       // (B)
  cudaStream_t stream;
};

bool asks_for_anything(const WeightsRun& run);
Status launch_weights_pass(DType dtype, const WeightsRun& run);

}  // namespace headwise::inline HEADWISE_ABI::cuda
