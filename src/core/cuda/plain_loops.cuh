// What the kernels share that do without the matrix units: rows of tensors, dot
// products in float32, sums over a warp.
#pragma once

#include <cstdint>

#include "cuda/call.h"
#include "cuda/wgmma.cuh"

namespace headwise::inline HEADWISE_ABI::cuda {

// The features of one row of one head.
template <class T>
__device__ inline const T* row_of(const DeviceTensor<const T, 4>& tensor,
                                  int batch, std::int64_t row, int head) {
  return tensor.data + batch * tensor.strides[0] + row * tensor.strides[1] +
         head * tensor.strides[2];
}

template <class T>
__device__ inline float dot(const T* a, std::int64_t a_step, const T* b,
                            std::int64_t b_step, int features) {
  float sum = 0;
  for (int d = 0; d < features; ++d) {
    sum = fmaf(widened(a[d * a_step]), widened(b[d * b_step]), sum);
  }
  return sum;
}

// By all lanes of a warp, always in the same order.
__device__ inline float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2) {
    x += __shfl_xor_sync(0xffffffffU, x, step);
  }
  return x;
}
__device__ inline float warp_max(float x) {
  for (int step = 16; step > 0; step /= 2) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffU, x, step));
  }
  return x;
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
