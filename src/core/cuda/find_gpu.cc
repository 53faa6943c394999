#include "cuda/find_gpu.h"

#include <cuda_runtime_api.h>

#include <string>

#include "base/check.h"
#include "cuda/check_cuda.h"

namespace headwise::inline HEADWISE_ABI::cuda {

Result<Gpu> find_gpu(std::string_view operation) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    cudaGetLastError();  // clears it
    return value_error(operation, "device", "cuda",
                       "an NVIDIA GPU with a driver for CUDA 13",
                       ErrorCode::unsupported);
  }
  Gpu gpu{};
  HEADWISE_TRY(check_cuda(cudaGetDevice(&gpu.index), "choosing it"));
  const struct {
    cudaDeviceAttr attribute;
    int* value;
  } wanted[] = {{cudaDevAttrComputeCapabilityMajor, &gpu.major},
                {cudaDevAttrComputeCapabilityMinor, &gpu.minor},
                {cudaDevAttrMultiProcessorCount, &gpu.multiprocessors}};
  for (const auto& [attribute, value] : wanted) {
    HEADWISE_TRY(check_cuda(cudaDeviceGetAttribute(value, attribute, gpu.index),
                            "asking what it is"));
  }
  return gpu;
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
