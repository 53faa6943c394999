// Attention on an NVIDIA GPU (compute capability 9.0, Hopper): the operation of
// attention/forward.h and attention/backward.h on tensors in device memory, in
// 16 bits, with sums in float32.
//
//   query   (B, Lq, Hq, D)     in     BFloat16 or Float16
//   key     (B, Lkv, Hkv, D)   in     all of one type
//   value   (B, Lkv, Hkv, Dv)  in
//   output  (B, Lq, Hq, Dv)    out
//
// attention() and attention_backward() take such tensors too; a plan keeps what
// they prepare for each call.
//
// All options of the CPU except additive scores, sinks, added keys, kv_groups,
// key_part and query_part. In device memory: the tensors, and what has an
// element per pair
// or per key: dense masks, key padding, bias, keep mask and separators. In host
// memory, and read when a plan is created: lengths, starts, ids, offsets and
// slopes.
//
// Attention weights and statistics take a second pass over the pairs, in
// float32 without the matrix units; only the weights take Lq x Lkv memory.
//
// A row's bits depend neither on the batch it is in, nor on padding or packing;
// they are not those of the CPU (docs/gpu.md).
// Errors: those of the CPU; unsupported when built without CUDA, without such a
// GPU, or for options that the GPU does not have yet; device_error when the GPU
// reports a failure.
//
// Example:
//   Status s = attention(q, k, v, {.output = out},
//                        {.mask = causal()}, {.device = Device::cuda(stream)});
#pragma once

#include <type_traits>
#include <utility>

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/dtype.h"
#include "headwise/base/half.h"
#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// An element type that the GPU supports.
template <class T>
concept DeviceElement =
    std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

class HEADWISE_HIDDEN DeviceBackend;

// What the plans of both types are made of.
class DeviceCall {
 public:
  // Errors: shape_mismatch and invalid_argument as in attention(), after which
  // no output was written; device_error.
  Status run(const CallTensors& tensors) const;
  // The gradients, summed in an order that depends on neither the batch nor the
  // GPU's load; those of bias and slopes pair by pair without the matrix units.
  // Allocates up to 12 bytes per row and query head, in the order of the
  // stream.
  // Errors: as run(); unsupported for d_attn_weights.
  Status run_backward(const CallTensors& tensors) const;
  const AttentionSpec& spec() const { return spec_; }

 protected:
  static Result<DeviceCall> create(const AttentionShape& shape, DType dtype,
                                   const AttentionOptions& options,
                                   const OperationOptions& operation_options);

 private:
  DeviceCall(AttentionSpec spec, DType dtype, Hidden<DeviceBackend> backend)
      : spec_(std::move(spec)), dtype_(dtype), backend_(std::move(backend)) {}

  AttentionSpec spec_;
  DType dtype_;
  Hidden<DeviceBackend> backend_;
};

// Checked and prepared once, run many times, in the stream of
// operation_options.device. A run waits for nothing, and allocates nothing
// unless the copy engine can't read a tensor where it lies (rows with gaps, or
// not at multiples of 16 bytes). One plan runs in one stream: its runs share
// memory.
template <DeviceElement T>
class DeviceAttentionPlan : public DeviceCall {
 public:
  // The views of the options in device memory must outlive the plan. Errors:
  // those of AttentionSpec::create; unsupported; device_error; out_of_memory.
  static Result<DeviceAttentionPlan> create(
      const AttentionShape& shape, const AttentionOptions& options,
      const OperationOptions& operation_options) {
    HEADWISE_ASSIGN(auto call, DeviceCall::create(shape, DTypeOf<T>::value,
                                                  options, operation_options));
    return DeviceAttentionPlan(std::move(call));
  }

  using DeviceCall::run;
  Status run(const AttentionInputsOf<T>& inputs,
             const AttentionOutputsOf<T>& outputs) const {
    return run(CallTensors(inputs, outputs));
  }
  using DeviceCall::run_backward;
  Status run_backward(const BackwardInputsOf<T>& inputs,
                      const AttentionGradientsOf<T>& gradients) const {
    return run_backward(CallTensors(inputs, gradients));
  }

 private:
  explicit DeviceAttentionPlan(DeviceCall call) : DeviceCall(std::move(call)) {}
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
