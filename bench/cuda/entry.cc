// Attention on the GPU behind plain C functions, so that bench/cuda.py calls it
// on the tensors of its peers, in one process.
#include <cstdint>
#include <cstdio>
#include <utility>
#include <variant>

#include "headwise/attention/device_attention.h"

namespace {

using headwise::AttentionOptions;
using headwise::AttentionShape;
using headwise::BFloat16;
using headwise::Device;
using headwise::DeviceAttentionPlan;
using headwise::Float16;

using Plan =
    std::variant<DeviceAttentionPlan<BFloat16>, DeviceAttentionPlan<Float16>>;

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
bool forward(const DeviceAttentionPlan<T>& plan, void* const* data,
             const std::int64_t* strides, float* lse, float* softmax_rows) {
  const AttentionShape& s = plan.spec().shape;
  const Tensors<T> x(s, data, strides);
  return said(
      plan.run(headwise::AttentionInputsOf<T>{x.query(0), x.key(1), x.value(2)},
               headwise::AttentionOutputsOf<T>{
                   .output = x.output(3),
                   .lse = {lse, {s.batches(), s.Hq, s.query_rows()}},
                   .softmax_rows = {softmax_rows,
                                    {s.batches(), s.Hq, s.query_rows(), 2}}}));
}

template <class T>
bool backward(const DeviceAttentionPlan<T>& plan, void* const* data,
              const std::int64_t* strides, const float* softmax_rows) {
  const AttentionShape& s = plan.spec().shape;
  const Tensors<T> x(s, data, strides);
  return said(plan.run_backward(
      headwise::BackwardInputsOf<T>{
          .query = x.query(0),
          .key = x.key(1),
          .value = x.value(2),
          .output = x.output(3),
          .softmax_rows = {softmax_rows,
                           {s.batches(), s.Hq, s.query_rows(), 2}},
          .d_output = x.output(4)},
      headwise::AttentionGradientsOf<T>{
          .query = x.query(5), .key = x.key(6), .value = x.value(7)}));
}

template <class T>
Plan* new_plan(const AttentionShape& shape, const AttentionOptions& options,
               void* stream) {
  auto plan = DeviceAttentionPlan<T>::create(shape, options,
                                             {.device = Device::cuda(stream)});
  if (!plan) {
    said(plan.error());
    return nullptr;
  }
  return new Plan{*std::move(plan)};
}

}  // namespace

extern "C" {

// sizes: B, Hq, Hkv, Lq, Lkv, D, Dv. Null: it failed, and said why.
void* headwise_plan(const std::int64_t* sizes, int bfloat16, int causal,
                    void* stream) {
  const auto size = [&](int n) { return static_cast<std::size_t>(sizes[n]); };
  AttentionOptions options;
  if (causal != 0) {
    options.mask = headwise::causal();
  }
  const AttentionShape shape = {.B = size(0),
                                .Hq = size(1),
                                .Hkv = size(2),
                                .Lq = size(3),
                                .Lkv = size(4),
                                .D = size(5),
                                .Dv = size(6)};
  return bfloat16 != 0 ? new_plan<BFloat16>(shape, options, stream)
                       : new_plan<Float16>(shape, options, stream);
}

void headwise_free(void* plan) { delete static_cast<Plan*>(plan); }

// tensors: query, key, value, output as (B, L, H, D), four strides each; lse
// and softmax_rows may be null.
int headwise_forward(void* plan, void* const* tensors,
                     const std::int64_t* strides, float* lse,
                     float* softmax_rows) {
  const bool done = std::visit(
      [&](const auto& p) {
        return forward(p, tensors, strides, lse, softmax_rows);
      },
      *static_cast<const Plan*>(plan));
  return done ? 0 : 1;
}

// tensors: as above, then d_output, d_query, d_key, d_value.
int headwise_backward(void* plan, void* const* tensors,
                      const std::int64_t* strides, const float* softmax_rows) {
  const bool done = std::visit(
      [&](const auto& p) {
        return backward(p, tensors, strides, softmax_rows);
      },
      *static_cast<const Plan*>(plan));
  return done ? 0 : 1;
}

}  // extern "C"
