// What a GPU does for a plan. src/cuda defines it; where headwise is built
// without CUDA, src/cuda/no_cuda.cc says so.
#pragma once

#include <cstddef>
#include <memory>

#include "headwise/attention/spec.h"
#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI {

// The tensors of a run, of the plan's type and sizes.
struct DeviceForward {
  TensorView<const std::byte, 4> query;  // strides in elements of the type
  TensorView<const std::byte, 4> key;
  TensorView<const std::byte, 4> value;
  TensorView<std::byte, 4> output;
  TensorView<float, 4> attn_weights;
  TensorView<float, 3> lse;
  TensorView<float, 4> softmax_rows;
  StatisticsViews statistics;
};

struct DeviceBackward {
  TensorView<const std::byte, 4> query;
  TensorView<const std::byte, 4> key;
  TensorView<const std::byte, 4> value;
  TensorView<const std::byte, 4> output;
  TensorView<const float, 4> softmax_rows;
  TensorView<const std::byte, 4> d_output;
  TensorView<std::byte, 4> d_query;  // no view: not wanted
  TensorView<std::byte, 4> d_key;
  TensorView<std::byte, 4> d_value;
  TensorView<float, 4> d_bias;
  TensorView<float, 1> d_alibi;
};

class DeviceBackend {
 public:
  DeviceBackend() = default;
  DeviceBackend(const DeviceBackend&) = delete;
  DeviceBackend& operator=(const DeviceBackend&) = delete;
  virtual ~DeviceBackend() = default;

  virtual Status forward(const DeviceForward& call) const = 0;
  virtual Status backward(const DeviceBackward& call) const = 0;
};

// Errors: unsupported, device_error, out_of_memory.
Result<std::unique_ptr<DeviceBackend>> make_device_backend(
    const AttentionSpec& spec, DType dtype, const Device& device);

}  // namespace headwise::inline HEADWISE_ABI
