// Errors of the CUDA runtime as headwise's.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI::cuda {

// `what` was tried: "copying the lists of a plan".
inline Status check_cuda(cudaError_t code, const char* what) {
  if (code == cudaSuccess) {
    return ok();
  }
  if (code == cudaErrorMemoryAllocation) {
    return Error{ErrorCode::out_of_memory};
  }
  return Error{
      ErrorCode::device_error,
      ErrorDetails{.operation = "attention",
                   .given = message("{} failed on the GPU: {}", Message(what),
                                    cudaGetErrorString(code))}};
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
