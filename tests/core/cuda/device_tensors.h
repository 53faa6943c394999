// Tensors of tests in device memory.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "attention/attention_call.h"
#include "attention/random_call.h"
#include "headwise/attention/device_attention.h"
#include "steps/stored_rule.h"
#include "support/tensors.h"

namespace headwise::testing_support {

inline void expect_cuda(cudaError_t code) {
  ASSERT_EQ(code, cudaSuccess) << cudaGetErrorString(code);
}

inline bool has_gpu() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

// Skips the test on a machine without a GPU.
#define HEADWISE_NEEDS_GPU()                \
  if (!has_gpu()) {                         \
    GTEST_SKIP() << "there is no GPU here"; \
  }

// A copy of some elements on the device, for as long as it lives.
template <class T>
class DeviceArray {
 public:
  DeviceArray(const T* from, std::size_t count) : count_(count) {
    void* data = nullptr;
    expect_cuda(cudaMalloc(&data, std::max<std::size_t>(count, 1) * sizeof(T)));
    data_.reset(static_cast<T*>(data));
    if (count != 0) {
      expect_cuda(
          cudaMemcpy(data, from, count * sizeof(T), cudaMemcpyHostToDevice));
    }
  }
  explicit DeviceArray(const std::vector<T>& from)
      : DeviceArray(from.data(), from.size()) {}

  T* data() const { return data_.get(); }
  std::vector<T> copy() const {
    std::vector<T> to(count_);
    expect_cuda(cudaMemcpy(to.data(), data(), count_ * sizeof(T),
                           cudaMemcpyDeviceToHost));
    return to;
  }

 private:
  struct Free {
    void operator()(T* data) const { cudaFree(data); }
  };
  std::size_t count_;
  std::unique_ptr<T, Free> data_;
};

template <class T>
std::vector<T> narrowed_all(std::span<const float> numbers) {
  std::vector<T> to;
  to.reserve(numbers.size());
  for (const float x : numbers) {
    to.push_back(narrowed<T>(x));
  }
  return to;
}

inline AttentionShape tensors_of(const Inputs<float>& in) {
  return attention_shape(in.query.extents(), in.key.extents(),
                         in.value.extents())
      .value();
}

// The options of a call of this shape, with dense masks, padding, bias and keep
// mask on the device.
class DeviceOptions {
 public:
  DeviceOptions(const AttentionShape& tensors, AttentionOptions options,
                OperationOptions operation_options)
      : options_(std::move(options)),
        operation_options_(std::move(operation_options)) {
    const BoundMask bound =
        AttentionSpec::create(tensors, options_, operation_options_)
            .value()
            .mask;
    Mask mask;
    for (std::size_t n = 0; n < bound.rules().size(); ++n) {
      const internal::StoredMaskRule& rule = bound.rules()[n];
      mask = mask & (rule.type->form == internal::MaskForm::booleans
                         ? on_device(rule, bound.materialize(n).value())
                         : Mask(rule));
    }
    options_.mask = mask;
    if (options_.bias.given()) {
      const NamedAxes& axes = options_.bias.axes();
      floats_.emplace_back(options_.bias.data(), span_of(axes));
      options_.bias = Bias(floats_.back().data(), axes);
    }
    if (const auto keep = options_.dropout.keep_mask; keep.data() != nullptr) {
      options_.dropout.keep_mask = {on_device(keep.data(), keep.size()),
                                    keep.extents()};
    }
    TensorView<const bool, 2>& separators =
        operation_options_.statistics.separators;
    if (separators.data() != nullptr) {
      separators = {on_device(separators.data(), separators.size()),
                    separators.extents()};
    }
    operation_options_.device = Device::cuda();
  }

  const AttentionOptions& get() const { return options_; }
  const OperationOptions& operation_options() const {
    return operation_options_;
  }

 private:
  // Elements in memory, of tensors without gaps.
  static std::size_t span_of(const NamedAxes& axes) {
    std::size_t count = 1;
    for (const std::size_t extent : axes.extents()) {
      count *= extent;
    }
    return count;
  }
  // The rule with its booleans, which are `allowed`, on the device.
  Mask on_device(const internal::StoredMaskRule& rule,
                 const Tensor<bool, 4>& allowed) {
    const bool* data = on_device(allowed.data(), allowed.size());
    const auto [B, H, Lq, Lkv] = allowed.extents();
    if (rule.type->name == "padding_mask") {
      return key_padding(TensorView<const bool, 2>(data, {B, Lkv}));
    }
    const auto axis = [&](std::size_t n, Axis name) {
      return rule.type->varies(rule, false)[n] ? name : Axis::one;
    };
    return dense(TensorView<const bool, 4>(data, allowed.extents()),
                 {axis(0, Axis::B), axis(1, Axis::H), axis(2, Axis::Lq),
                  axis(3, Axis::Lkv)});
  }
  const bool* on_device(const bool* data, std::size_t count) {
    bools_.emplace_back(data, count);
    return bools_.back().data();
  }

  AttentionOptions options_;
  OperationOptions operation_options_;
  std::vector<DeviceArray<bool>> bools_;
  std::vector<DeviceArray<float>> floats_;
};

// Half a unit in the last place, relative.
template <class T>
inline constexpr double kRounding =
    std::is_same_v<T, BFloat16> ? 0x1p-9 : 0x1p-12;

template <class T>
Tensor<float, 4> rounded(const Tensor<float, 4>& x) {
  auto to = clone(x);
  for (float& element : to.elements()) {
    element = widened(narrowed<T>(element));
  }
  return to;
}

// A random call that the GPU takes, with the head sizes of its kernels and some
// between them.
inline void fit_to_gpu(RandomCall& call) {
  for (const Feature of_cpu :
       {Feature::additive, Feature::uneven_groups, Feature::t5_bias}) {
    call.features[static_cast<std::size_t>(of_cpu)] = false;
  }
  call.more = {};
  constexpr std::size_t kSizes[] = {0, 0, 0, 64, 96, 104, 128, 192, 200, 256};
  const std::size_t size = kSizes[call.stream / 32 % 10];
  if (size != 0) {
    call.D = size;
    call.Dv = call.has(Feature::unequal_sizes) ? size - 8 : size;
  }
}

// Results of a call on the device, widened.
struct DeviceResult {
  Tensor<float, 4> output;
  Tensor<float, 3> lse;
  Tensor<float, 4> attn_weights;
};

// A tensor in 16 bits on the device; every element 42 where it is an output's.
template <class T>
class DeviceHalf {
 public:
  explicit DeviceHalf(const Tensor<float, 4>& from)
      : extents_(from.extents()),
        array_(narrowed_all<T>({from.data(), from.size()})) {}
  explicit DeviceHalf(const Extents<4>& extents)
      : DeviceHalf(filled<float, 4>(extents, 42)) {}

  TensorView<T, 4> view() const { return {array_.data(), extents_}; }
  Tensor<float, 4> copy() const {
    auto to = filled<float, 4>(extents_, 0);
    const std::vector<T> from = array_.copy();
    std::ranges::transform(from, to.data(), [](T x) { return widened(x); });
    return to;
  }

 private:
  Extents<4> extents_;
  DeviceArray<T> array_;
};

// Of the attention weights that a call returns.
inline Extents<4> weights_extents(const Inputs<float>& in,
                                  const AttentionOptions& options,
                                  const OperationOptions& operation_options) {
  const auto spec =
      AttentionSpec::create(tensors_of(in), options, operation_options).value();
  const AttentionShape& s = spec.shape;
  const std::size_t heads = options.attn_weights == AttnWeights::none   ? 0
                            : options.attn_weights == AttnWeights::mean ? 1
                                                                        : s.Hq;
  return {s.B, heads, s.Lq, s.Lkv};
}

// A call with float32 inputs that 16 bits hold exactly.
template <class T>
Result<DeviceResult> attend_on_device(
    const Inputs<float>& in, const AttentionOptions& options,
    const OperationOptions& operation_options = {}) {
  const DeviceHalf<T> q(in.query);
  const DeviceHalf<T> k(in.key);
  const DeviceHalf<T> v(in.value);
  const auto [B, Lq, Hq, D] = in.query.extents();
  const DeviceHalf<T> output(Extents<4>{B, Lq, Hq, in.value.extent(3)});
  auto lse = filled<float, 3>({B, Hq, Lq}, 42);
  const DeviceArray<float> on_device_lse(lse.data(), lse.size());
  auto weights =
      filled<float, 4>(weights_extents(in, options, operation_options), 42);
  const DeviceArray<float> on_device_weights(weights.data(), weights.size());
  const bool returned = options.attn_weights != AttnWeights::none;
  const DeviceOptions on_device(tensors_of(in), options, operation_options);
  const Status s = attention(
      q.view(), k.view(), v.view(),
      AttentionOutputsOf<T>{
          .output = output.view(),
          .attn_weights = {returned ? on_device_weights.data() : nullptr,
                           weights.extents()},
          .lse = {on_device_lse.data(), lse.extents()}},
      on_device.get(), on_device.operation_options());
  if (!s) {
    return s.error();
  }
  expect_cuda(cudaDeviceSynchronize());
  std::ranges::copy(on_device_lse.copy(), lse.data());
  std::ranges::copy(on_device_weights.copy(), weights.data());
  return DeviceResult{output.copy(), std::move(lse), std::move(weights)};
}

// The gradients of a call.
struct DeviceGradientResult {
  Tensor<float, 4> query;
  Tensor<float, 4> key;
  Tensor<float, 4> value;
  Tensor<float, 4> bias;   // without elements where there is none
  Tensor<float, 1> alibi;  // likewise
};

// Forward and backward on the device.
template <class T>
Result<DeviceGradientResult> differentiate_on_device(
    const Inputs<float>& in, const Tensor<float, 4>& d_output,
    const AttentionOptions& options,
    const OperationOptions& operation_options = {}) {
  const DeviceHalf<T> q(in.query);
  const DeviceHalf<T> k(in.key);
  const DeviceHalf<T> v(in.value);
  const DeviceHalf<T> d_out(d_output);
  const DeviceHalf<T> output(d_output.extents());
  const DeviceHalf<T> d_q(in.query.extents());
  const DeviceHalf<T> d_k(in.key.extents());
  const DeviceHalf<T> d_v(in.value.extents());
  const auto [B, Lq, Hq, D] = in.query.extents();
  const Extents<4> rows_extents = {B, Hq, Lq, 2};
  const auto rows = filled<float, 4>(rows_extents, 42);
  const DeviceArray<float> softmax_rows(rows.data(), rows.size());
  const auto spec =
      AttentionSpec::create(tensors_of(in), options, operation_options).value();
  auto bias = filled<float, 4>(
      spec.bias.given() ? spec.bias.extents() : Extents<4>{0, 0, 0, 0}, 42);
  auto alibi = filled<float, 1>({spec.alibi.given() ? Hq : 0}, 42);
  const DeviceArray<float> d_bias(bias.data(), bias.size());
  const DeviceArray<float> d_alibi(alibi.data(), alibi.size());
  const DeviceOptions on_device(tensors_of(in), options, operation_options);
  if (Status s =
          attention(q.view(), k.view(), v.view(),
                    AttentionOutputsOf<T>{
                        .output = output.view(),
                        .softmax_rows = {softmax_rows.data(), rows_extents}},
                    on_device.get(), on_device.operation_options());
      !s) {
    return s.error();
  }
  if (Status s = attention_backward(
          BackwardInputsOf<T>{
              .query = q.view(),
              .key = k.view(),
              .value = v.view(),
              .output = output.view(),
              .softmax_rows = {softmax_rows.data(), rows_extents},
              .d_output = d_out.view()},
          AttentionGradientsOf<T>{
              .query = d_q.view(),
              .key = d_k.view(),
              .value = d_v.view(),
              .bias = {spec.bias.given() ? d_bias.data() : nullptr,
                       bias.extents()},
              .alibi = {spec.alibi.given() ? d_alibi.data() : nullptr,
                        alibi.extents()}},
          on_device.get(), on_device.operation_options());
      !s) {
    return s.error();
  }
  expect_cuda(cudaDeviceSynchronize());
  std::ranges::copy(d_bias.copy(), bias.data());
  std::ranges::copy(d_alibi.copy(), alibi.data());
  return DeviceGradientResult{d_q.copy(), d_k.copy(), d_v.copy(),
                              std::move(bias), std::move(alibi)};
}

}  // namespace headwise::testing_support
