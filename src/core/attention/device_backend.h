// What a GPU does for a plan. src/core/cuda defines it; where headwise is built
// without CUDA, src/core/cuda/no_cuda.cc says so.
#pragma once

#include <memory>

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "headwise/base/dtype.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// The tensors of a run are of the plan's type and sizes.
class DeviceBackend {
 public:
  DeviceBackend() = default;
  DeviceBackend(const DeviceBackend&) = delete;
  DeviceBackend& operator=(const DeviceBackend&) = delete;
  virtual ~DeviceBackend() = default;

  virtual Status forward(const CallTensors& tensors) const = 0;
  virtual Status backward(const CallTensors& tensors) const = 0;
};

// Errors: unsupported, device_error, out_of_memory.
Result<std::unique_ptr<DeviceBackend>> make_device_backend(
    const AttentionSpec& spec, DType dtype, const Device& device);

}  // namespace headwise::inline HEADWISE_ABI
