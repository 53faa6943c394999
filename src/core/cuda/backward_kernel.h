// The backward kernels, each type compiled in a file of its own.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/call.h"
#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI::cuda {

// One run, by pointers without their type. No data: not wanted.
struct BackwardRun {
  Call call;
  float scale;  // plain
  TensorView<const std::byte, 4> query;
  TensorView<const std::byte, 4> key;
  TensorView<const std::byte, 4> value;
  TensorView<const std::byte, 4> output;
  TensorView<const std::byte, 4> d_output;
  TensorView<const float, 4> softmax_rows;
  TensorView<std::byte, 4> d_query;
  TensorView<std::byte, 4> d_key;
  TensorView<std::byte, 4> d_value;
  float* lse;    // (B, Hq, rows)
  float* delta;  // (B, Hq, rows)
  int rows;
  TiledWork keys;
  TiledWork keys_again;  // for head sizes that take two passes
  TiledWork queries;
  int blocks;  // of threads, at most
  cudaStream_t stream;
};

struct BackwardKernel {
  int query_rows;   // of a tile, for d_query
  int key_rows;     // of a tile, for d_key and d_value
  int query_block;  // queries that pass by at once
  Status (*launch)(const BackwardRun&);
};

// For head sizes up to 256; `terms` as for the forward kernel, or rows without
// a key that weigh all values.
BackwardKernel bfloat16_backward_kernel(std::size_t head_size, bool terms);
BackwardKernel float16_backward_kernel(std::size_t head_size, bool terms);

}  // namespace headwise::inline HEADWISE_ABI::cuda
