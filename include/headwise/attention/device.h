// Attention on an NVIDIA GPU (compute capability 9.0, Hopper): the operation of
// attention/forward.h and attention/backward.h on tensors in device memory, in
// 16 bits, with sums in float32.
//
//   query   (B, Lq, Hq, D)     in     BFloat16 or Float16
//   key     (B, Lkv, Hkv, D)   in     all of one type
//   value   (B, Lkv, Hkv, Dv)  in
//   output  (B, Lq, Hq, Dv)    out
//
// All options of the CPU but additive scores and kv_groups. In device memory:
// the tensors, and what has an element a pair or a key, dense masks, key
// padding, bias, keep mask and separators.
// In host memory, and read when a plan is made: lengths, starts, ids, offsets
// and slopes.
//
// Attention weights and statistics are a pass of their own over the pairs, in
// float32 without the matrix units; only the former take Lq x Lkv memory.
//
// A row's bits depend neither on the batch it is in, nor on padding or packing;
// they are not those of the CPU (Arithmetic::unpromised, docs/arithmetic.md).
// Errors are the CPU's, and unsupported: built without CUDA, no such GPU, or
// what is not there yet; device_error: the GPU reports a failure.
//
// Example:
//   Status s = attention(q, k, v, DeviceOutputs<BFloat16>{.output = out},
//                        {.mask = causal(), .device = Device::cuda(stream)});
#pragma once

#include <memory>

#include "headwise/attention/spec.h"
#include "headwise/base/dtype.h"
#include "headwise/base/half.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

template <class T>
struct DeviceInputs {
  TensorView<const T, 4> query;
  TensorView<const T, 4> key;
  TensorView<const T, 4> value;
};

// Where results go, as AttentionOutputs says; no view: not wanted.
template <class T>
struct DeviceOutputs {
  TensorView<T, 4> output;
  TensorView<float, 4> attn_weights{};  // as options.attn_weights says
  TensorView<float, 3> lse{};
  TensorView<float, 4> softmax_rows{};
  StatisticsViews statistics{};
};

// What the backward pass reads; `output` and `softmax_rows` are of the forward
// pass.
template <class T>
struct DeviceBackwardInputs {
  TensorView<const T, 4> query;
  TensorView<const T, 4> key;
  TensorView<const T, 4> value;
  TensorView<const T, 4> output;
  TensorView<const float, 4> softmax_rows;  // (B, Hq, Lq, 2)
  TensorView<const T, 4> d_output;          // (B, Lq, Hq, Dv)
};

// Where gradients go, of the shapes of what they are of; no view: not wanted.
template <class T>
struct DeviceGradients {
  TensorView<T, 4> query{};
  TensorView<T, 4> key{};
  TensorView<T, 4> value{};
  // As those of AttentionGradients, by B, H, Lq, Lkv with the extent 1 where
  // options.bias is broadcast.
  TensorView<float, 4> bias{};
  TensorView<float, 1> alibi{};  // (Hq)
};

class DeviceBackend;

// Checked and prepared once, run many times, in the stream of
// options.device. A run waits for nothing, and allocates nothing unless the
// copy engine can't read a tensor where it lies (rows with gaps, or not at
// multiples of 16 bytes). One plan runs in one stream: its runs share memory.
class DeviceAttentionPlan {
 public:
  // `dtype` is bfloat16 or float16. The views of `options` in device memory
  // must outlive the plan. Errors: those of AttentionSpec::create; unsupported;
  // device_error; out_of_memory.
  static Result<DeviceAttentionPlan> create(const AttentionShape& shape,
                                            DType dtype,
                                            const AttentionOptions& options);
  DeviceAttentionPlan(const DeviceAttentionPlan&) = delete;
  DeviceAttentionPlan& operator=(const DeviceAttentionPlan&) = delete;
  DeviceAttentionPlan(DeviceAttentionPlan&&) noexcept;
  DeviceAttentionPlan& operator=(DeviceAttentionPlan&&) noexcept;
  ~DeviceAttentionPlan();

  // Errors: shape_mismatch; invalid_argument for tensors of another type than
  // the plan's and for an output in the memory of another tensor; then no
  // output was written. device_error.
  template <class T>
  Status run(const DeviceInputs<T>& inputs,
             const DeviceOutputs<T>& outputs) const;

  // The gradients, summed in an order that depends on neither the batch nor the
  // GPU's load; those of bias and slopes pair by pair without the matrix units.
  // Takes up to 12 bytes a row and query head, in the stream's order.
  // Errors: as run().
  template <class T>
  Status run_backward(const DeviceBackwardInputs<T>& inputs,
                      const DeviceGradients<T>& gradients) const;

  const AttentionSpec& spec() const { return spec_; }

 private:
  DeviceAttentionPlan(AttentionSpec spec, DType dtype,
                      std::unique_ptr<DeviceBackend> backend);

  AttentionSpec spec_;
  DType dtype_;
  std::unique_ptr<DeviceBackend> backend_;
};

// The same, each in one call.
template <class T>
HEADWISE_EXPORT Status attention(TensorView<const T, 4> query,
                                 TensorView<const T, 4> key,
                                 TensorView<const T, 4> value,
                                 const DeviceOutputs<T>& outputs,
                                 const AttentionOptions& options);
template <class T>
HEADWISE_EXPORT Status attention_backward(const DeviceBackwardInputs<T>& inputs,
                                          const DeviceGradients<T>& gradients,
                                          const AttentionOptions& options);

#define HEADWISE_DEVICE_TYPE(T)                                               \
  extern template Status DeviceAttentionPlan::run(                            \
      const DeviceInputs<T>&, const DeviceOutputs<T>&) const;                 \
  extern template Status DeviceAttentionPlan::run_backward(                   \
      const DeviceBackwardInputs<T>&, const DeviceGradients<T>&) const;       \
  extern template Status attention(                                           \
      TensorView<const T, 4>, TensorView<const T, 4>, TensorView<const T, 4>, \
      const DeviceOutputs<T>&, const AttentionOptions&);                      \
  extern template Status attention_backward(const DeviceBackwardInputs<T>&,   \
                                            const DeviceGradients<T>&,        \
                                            const AttentionOptions&);
HEADWISE_DEVICE_TYPE(BFloat16)
HEADWISE_DEVICE_TYPE(Float16)
#undef HEADWISE_DEVICE_TYPE

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
