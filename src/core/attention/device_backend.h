// What a GPU does for a plan. src/core/cuda defines it; where headwise is built
// without CUDA, src/core/cuda/no_cuda.cc says so.
#pragma once

#include <cstddef>
#include <memory>

#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/dtype.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// The tensors of a run are of the plan's type and sizes; their strides count
// elements of that type.
class DeviceBackend {
 public:
  DeviceBackend() = default;
  DeviceBackend(const DeviceBackend&) = delete;
  DeviceBackend& operator=(const DeviceBackend&) = delete;
  virtual ~DeviceBackend() = default;

  virtual Status forward(
      const AttentionInputsOf<std::byte>& inputs,
      const AttentionOutputsOf<std::byte>& outputs) const = 0;
  virtual Status backward(
      const BackwardInputsOf<std::byte>& inputs,
      const AttentionGradientsOf<std::byte>& gradients) const = 0;
};

// Errors: unsupported, device_error, out_of_memory.
Result<std::unique_ptr<DeviceBackend>> make_device_backend(
    const AttentionSpec& spec, DType dtype, const Device& device);

}  // namespace headwise::inline HEADWISE_ABI
