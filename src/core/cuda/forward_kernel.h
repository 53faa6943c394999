// The forward kernels, each compiled in a file of its own type.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "cuda/call.h"
#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI::cuda {

// One run, by pointers without their type.
struct ForwardRun {
  Call call;
  TensorView<const std::byte, 4> query;
  TensorView<const std::byte, 4> key;
  TensorView<const std::byte, 4> value;
  TensorView<std::byte, 4> output;
  TensorView<float, 3> lse;
  TensorView<float, 4> softmax_rows;
  TiledWork tiles;
  int* suspect;  // a flag a work item and, before them, whether any is set
  int blocks;    // of threads
  cudaStream_t stream;
};

struct ForwardKernel {
  int query_rows;  // of a tile
  Status (*launch)(const ForwardRun&);
};

// For head sizes up to 256; `terms`: there is more between q.k and the softmax
// than a scale and intervals of keys.
ForwardKernel bfloat16_forward_kernel(std::size_t head_size, bool terms);
ForwardKernel float16_forward_kernel(std::size_t head_size, bool terms);

}  // namespace headwise::inline HEADWISE_ABI::cuda
