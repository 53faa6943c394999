// Attention on the GPU behind plain C functions, so that bench/cuda.py calls it
// on the tensors of its peers, in one process.
#include <cstdint>
#include <cstdio>

#include "headwise/attention/device.h"

namespace {

using headwise::AttentionOptions;
using headwise::AttentionShape;
using headwise::BFloat16;
using headwise::Device;
using headwise::DeviceAttentionPlan;
using headwise::DType;
using headwise::Float16;

struct Plan {
  DeviceAttentionPlan plan;
  bool bfloat16;
};

bool said(const headwise::Status& status) {
  if (!status) {
    std::fprintf(stderr, "%s\n", status.error().message().c_str());
  }
  return static_cast<bool>(status);
}

// The tensors of a call: data and four strides each.
template <class T>
class Tensors {
 public:
  Tensors(const AttentionShape& shape, void* const* data,
          const std::int64_t* strides)
      : shape_(shape), data_(data), strides_(strides) {}

  headwise::TensorView<T, 4> query(int n) const {
    return view(n,
                {shape_.batches(), shape_.query_rows(), shape_.Hq, shape_.D});
  }
  headwise::TensorView<T, 4> output(int n) const {
    return view(n,
                {shape_.batches(), shape_.query_rows(), shape_.Hq, shape_.Dv});
  }
  headwise::TensorView<T, 4> key(int n) const {
    return view(n, {shape_.batches(), shape_.key_rows(), shape_.Hkv, shape_.D});
  }
  headwise::TensorView<T, 4> value(int n) const {
    return view(n,
                {shape_.batches(), shape_.key_rows(), shape_.Hkv, shape_.Dv});
  }

 private:
  headwise::TensorView<T, 4> view(int n,
                                  const headwise::Extents<4>& extents) const {
    const std::int64_t* of = strides_ + 4 * n;
    return {static_cast<T*>(data_[n]), extents, {of[0], of[1], of[2], of[3]}};
  }

  const AttentionShape& shape_;
  void* const* data_;
  const std::int64_t* strides_;
};

template <class T>
bool forward(const Plan& plan, void* const* data, const std::int64_t* strides,
             float* lse, float* softmax_rows) {
  const AttentionShape& s = plan.plan.spec().shape;
  const Tensors<T> x(s, data, strides);
  return said(plan.plan.run(
      headwise::DeviceInputs<T>{x.query(0), x.key(1), x.value(2)},
      headwise::DeviceOutputs<T>{
          .output = x.output(3),
          .lse = {lse, {s.batches(), s.Hq, s.query_rows()}},
          .softmax_rows = {softmax_rows,
                           {s.batches(), s.Hq, s.query_rows(), 2}}}));
}

template <class T>
bool backward(const Plan& plan, void* const* data, const std::int64_t* strides,
              const float* softmax_rows) {
  const AttentionShape& s = plan.plan.spec().shape;
  const Tensors<T> x(s, data, strides);
  return said(plan.plan.run_backward(
      headwise::DeviceBackwardInputs<T>{
          .query = x.query(0),
          .key = x.key(1),
          .value = x.value(2),
          .output = x.output(3),
          .softmax_rows = {softmax_rows,
                           {s.batches(), s.Hq, s.query_rows(), 2}},
          .d_output = x.output(4)},
      headwise::DeviceGradients<T>{
          .query = x.query(5), .key = x.key(6), .value = x.value(7)}));
}

}  // namespace

extern "C" {

// sizes: B, Hq, Hkv, Lq, Lkv, D, Dv. Null: it failed, and said why.
void* headwise_plan(const std::int64_t* sizes, int bfloat16, int causal,
                    void* stream) {
  const auto size = [&](int n) { return static_cast<std::size_t>(sizes[n]); };
  AttentionOptions options;
  options.device = Device::cuda(stream);
  if (causal != 0) {
    options.mask = headwise::causal();
  }
  auto plan = DeviceAttentionPlan::create(
      AttentionShape{.B = size(0),
                     .Hq = size(1),
                     .Hkv = size(2),
                     .Lq = size(3),
                     .Lkv = size(4),
                     .D = size(5),
                     .Dv = size(6)},
      bfloat16 != 0 ? DType::bfloat16 : DType::float16, options);
  if (!plan) {
    said(plan.error());
    return nullptr;
  }
  return new Plan{std::move(*plan), bfloat16 != 0};
}

void headwise_free(void* plan) { delete static_cast<Plan*>(plan); }

// tensors: query, key, value, output as (B, L, H, D), four strides each; lse
// and softmax_rows may be null.
int headwise_forward(void* plan, void* const* tensors,
                     const std::int64_t* strides, float* lse,
                     float* softmax_rows) {
  const Plan& p = *static_cast<Plan*>(plan);
  return (p.bfloat16 ? forward<BFloat16>(p, tensors, strides, lse, softmax_rows)
                     : forward<Float16>(p, tensors, strides, lse, softmax_rows))
             ? 0
             : 1;
}

// tensors: as above, then d_output, d_query, d_key, d_value.
int headwise_backward(void* plan, void* const* tensors,
                      const std::int64_t* strides, const float* softmax_rows) {
  const Plan& p = *static_cast<Plan*>(plan);
  return (p.bfloat16 ? backward<BFloat16>(p, tensors, strides, softmax_rows)
                     : backward<Float16>(p, tensors, strides, softmax_rows))
             ? 0
             : 1;
}

}  // extern "C"
