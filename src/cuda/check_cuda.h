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
  return Error{code == cudaErrorMemoryAllocation ? ErrorCode::out_of_memory
                                                 : ErrorCode::device_error,
               std::string("attention: ") + what +
                   " failed on the GPU: " + cudaGetErrorString(code)};
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
