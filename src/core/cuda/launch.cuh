// What launches of typed kernels share.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>

#include "cuda/call.h"
#include "cuda/check_cuda.h"
#include "cuda/wgmma.cuh"
#include "headwise/base/dtype.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI::cuda {

template <class T>
inline constexpr DType kDType = DType::float16;
template <>
inline constexpr DType kDType<__nv_bfloat16> = DType::bfloat16;

template <class To, class From, std::size_t kRank>
DeviceTensor<To, kRank> device_tensor(const TensorView<From, kRank>& view) {
  DeviceTensor<To, kRank> tensor;
  tensor.data = reinterpret_cast<To*>(view.data());
  for (std::size_t axis = 0; axis < kRank; ++axis) {
    tensor.strides[axis] = view.stride(axis);
  }
  return tensor;
}

// A kernel that needs more shared memory than it gets unasked. Asked for once.
template <auto kKernel, int kSharedBytes>
Status allow_shared_memory() {
  static const cudaError_t allowed = cudaFuncSetAttribute(
      kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  return check_cuda(allowed, "asking for shared memory");
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
