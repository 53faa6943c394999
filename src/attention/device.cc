#include "headwise/attention/device.h"

#include <initializer_list>
#include <string>
#include <utility>

#include "attention/check_memory.h"
#include "attention/device_backend.h"
#include "attention/inputs.h"
#include "base/check.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Status check_device_options(const AttentionOptions& options, DType dtype) {
  if (options.device.kind != Device::Kind::cuda) {
    return value_error("attention", "device", "cpu",
                       "Device::cuda(stream) for 16-bit tensors");
  }
  if (dtype != DType::bfloat16 && dtype != DType::float16) {
    return value_error("attention", "dtype", name_of(dtype),
                       "bfloat16 or float16 on cuda", ErrorCode::unsupported);
  }
  if (options.score_weight.data() != nullptr) {
    return value_error("attention", "score_weight", "given",
                       "none on cuda: additive scores are the CPU's",
                       ErrorCode::unsupported);
  }
  if (options.kv_groups.data() != nullptr) {
    return value_error("attention", "kv_groups", "given",
                       "none on cuda: uneven groups are the CPU's",
                       ErrorCode::unsupported);
  }
  return ok();
}

template <class T>
TensorView<const std::byte, 4> bytes_of(const TensorView<const T, 4>& view) {
  return {reinterpret_cast<const std::byte*>(view.data()), view.extents(),
          view.strides()};
}
template <class T>
TensorView<std::byte, 4> bytes_of(const TensorView<T, 4>& view) {
  return {reinterpret_cast<std::byte*>(view.data()), view.extents(),
          view.strides()};
}

// A tensor of a run by its name, and what it must be.
struct Tensor4 {
  const char* name;
  const char* axes;
  Extents<4> given;
  Extents<4> expected;
};

Status check_all(std::string_view operation,
                 std::initializer_list<Tensor4> tensors) {
  for (const Tensor4& tensor : tensors) {
    HEADWISE_TRY(check_shape(operation, tensor.name, tensor.given, tensor.axes,
                             tensor.expected));
  }
  return ok();
}

// The extents of a call's tensors.
struct Expected {
  explicit Expected(const AttentionShape& shape)
      : query{shape.batches(), shape.query_rows(), shape.Hq, shape.D},
        key{shape.batches(), shape.key_rows(), shape.Hkv, shape.D},
        value{shape.batches(), shape.key_rows(), shape.Hkv, shape.Dv},
        output{shape.batches(), shape.query_rows(), shape.Hq, shape.Dv},
        softmax_rows{shape.batches(), shape.Hq, shape.query_rows(), 2},
        lse{shape.batches(), shape.Hq, shape.query_rows()} {}

  Extents<4> query, key, value, output, softmax_rows;
  Extents<3> lse;
};

constexpr const char* kQueryAxes = "(B, Lq, Hq, D)";
constexpr const char* kKeyAxes = "(B, Lkv, Hkv, D)";
constexpr const char* kValueAxes = "(B, Lkv, Hkv, Dv)";
constexpr const char* kOutputAxes = "(B, Lq, Hq, Dv)";
constexpr const char* kRowsAxes = "(B, Hq, Lq, 2)";

template <class T>
Status check_forward(const AttentionSpec& spec, const DeviceInputs<T>& inputs,
                     const DeviceOutputs<T>& outputs) {
  const Expected expected(spec.shape);
  const bool rows = outputs.softmax_rows.data() != nullptr;
  HEADWISE_TRY(check_all(
      "attention",
      {{"query", kQueryAxes, inputs.query.extents(), expected.query},
       {"key", kKeyAxes, inputs.key.extents(), expected.key},
       {"value", kValueAxes, inputs.value.extents(), expected.value},
       {"output", kOutputAxes, outputs.output.extents(), expected.output},
       {"softmax_rows", kRowsAxes,
        rows ? outputs.softmax_rows.extents() : expected.softmax_rows,
        expected.softmax_rows}}));
  if (outputs.attn_weights.data() != nullptr) {
    const AttentionShape& shape = spec.shape;
    const bool mean = spec.attn_weights == AttnWeights::mean;
    HEADWISE_TRY(
        check_shape("attention", "attn_weights", outputs.attn_weights.extents(),
                    mean ? "(B, 1, Lq, Lkv)" : "(B, Hq, Lq, Lkv)",
                    {{shape.B, mean ? 1 : shape.Hq, shape.Lq, shape.Lkv}}));
  }
  if (Status s = spec.statistics.check_views(outputs.statistics);
      !s || outputs.lse.data() == nullptr) {
    return s;
  }
  return check_shape("attention", "lse", outputs.lse.extents(), "(B, Hq, Lq)",
                     expected.lse);
}

// The gradients of what is added to the scores.
Status check_terms(const AttentionSpec& spec, TensorView<float, 4> d_bias,
                   TensorView<float, 1> d_alibi) {
  constexpr std::string_view kOperation = "attention_backward";
  if (d_bias.data() != nullptr && !spec.bias.given()) {
    return value_error(kOperation, "gradients.bias", "wanted",
                       "none: the options have no bias");
  }
  if (d_alibi.data() != nullptr && !spec.alibi.given()) {
    return value_error(kOperation, "gradients.alibi", "wanted",
                       "none: the options have no alibi");
  }
  if (d_alibi.data() != nullptr) {
    HEADWISE_TRY(check_shape(kOperation, "gradients.alibi", d_alibi.extents(),
                             "(Hq)", {{spec.shape.Hq}}));
  }
  return d_bias.data() == nullptr
             ? ok()
             : check_shape(kOperation, "gradients.bias", d_bias.extents(),
                           "(B, Hq, Lq, Lkv), 1 where it is broadcast",
                           spec.bias.extents());
}

template <class T>
Status check_backward(const AttentionSpec& spec,
                      const DeviceBackwardInputs<T>& inputs,
                      const DeviceGradients<T>& gradients) {
  const Expected expected(spec.shape);
  const auto wanted = [](const TensorView<T, 4>& gradient,
                         const Extents<4>& of) {
    return gradient.data() != nullptr ? gradient.extents() : of;
  };
  HEADWISE_TRY(check_terms(spec, gradients.bias, gradients.alibi));
  return check_all(
      "attention_backward",
      {{"query", kQueryAxes, inputs.query.extents(), expected.query},
       {"key", kKeyAxes, inputs.key.extents(), expected.key},
       {"value", kValueAxes, inputs.value.extents(), expected.value},
       {"output", kOutputAxes, inputs.output.extents(), expected.output},
       {"softmax_rows", kRowsAxes, inputs.softmax_rows.extents(),
        expected.softmax_rows},
       {"d_output", kOutputAxes, inputs.d_output.extents(), expected.output},
       {"gradients.query", kQueryAxes, wanted(gradients.query, expected.query),
        expected.query},
       {"gradients.key", kKeyAxes, wanted(gradients.key, expected.key),
        expected.key},
       {"gradients.value", kValueAxes, wanted(gradients.value, expected.value),
        expected.value}});
}

template <class T>
Status check_type(std::string_view operation, DType dtype) {
  if (DTypeOf<T>::value == dtype) {
    return ok();
  }
  return value_error(operation, "query.dtype", name_of(DTypeOf<T>::value),
                     "the plan's, " + std::string(name_of(dtype)));
}

}  // namespace

DeviceAttentionPlan::DeviceAttentionPlan(AttentionSpec spec, DType dtype,
                                         std::unique_ptr<DeviceBackend> backend)
    : spec_(std::move(spec)), dtype_(dtype), backend_(std::move(backend)) {}
DeviceAttentionPlan::DeviceAttentionPlan(DeviceAttentionPlan&&) noexcept =
    default;
DeviceAttentionPlan& DeviceAttentionPlan::operator=(
    DeviceAttentionPlan&&) noexcept = default;
DeviceAttentionPlan::~DeviceAttentionPlan() = default;

Result<DeviceAttentionPlan> DeviceAttentionPlan::create(
    const AttentionShape& shape, DType dtype,
    const AttentionOptions& options) try {
  HEADWISE_TRY(check_device_options(options, dtype));
  AttentionOptions checked = options;
  checked.device = {};  // the spec is that of the CPU's call
  auto spec = AttentionSpec::create(shape, checked);
  HEADWISE_TRY(spec);
  auto backend = make_device_backend(*spec, dtype, options.device);
  HEADWISE_TRY(backend);
  return DeviceAttentionPlan(*std::move(spec), dtype, *std::move(backend));
} catch (...) {
  return caught_out_of_memory();
}

template <class T>
Status DeviceAttentionPlan::run(const DeviceInputs<T>& inputs,
                                const DeviceOutputs<T>& outputs) const try {
  HEADWISE_TRY(check_type<T>("attention", dtype_));
  HEADWISE_TRY(check_forward(spec_, inputs, outputs));
  HEADWISE_TRY(check_forward_memory(spec_, inputs, outputs));
  return backend_->forward(
      {bytes_of(inputs.query), bytes_of(inputs.key), bytes_of(inputs.value),
       bytes_of(outputs.output),
       spec_.attn_weights == AttnWeights::none ? TensorView<float, 4>()
                                               : outputs.attn_weights,
       outputs.lse, outputs.softmax_rows, outputs.statistics});
} catch (...) {
  return caught_out_of_memory();
}

template <class T>
Status DeviceAttentionPlan::run_backward(
    const DeviceBackwardInputs<T>& inputs,
    const DeviceGradients<T>& gradients) const try {
  HEADWISE_TRY(check_type<T>("attention_backward", dtype_));
  HEADWISE_TRY(check_backward(spec_, inputs, gradients));
  const Footprint none{TensorView<const float, 1>()};
  HEADWISE_TRY(check_backward_memory(spec_, inputs, none, gradients, none));
  return backend_->backward(
      {bytes_of(inputs.query), bytes_of(inputs.key), bytes_of(inputs.value),
       bytes_of(inputs.output), inputs.softmax_rows, bytes_of(inputs.d_output),
       bytes_of(gradients.query), bytes_of(gradients.key),
       bytes_of(gradients.value), gradients.bias, gradients.alibi});
} catch (...) {
  return caught_out_of_memory();
}

namespace {

// `inputs` has query, key and value.
template <class T, class Inputs>
Result<DeviceAttentionPlan> plan_of(const Inputs& inputs,
                                    const AttentionOptions& options) {
  const auto shape = attention_shape(
      inputs.query.extents(), inputs.key.extents(), inputs.value.extents());
  HEADWISE_TRY(shape);
  return DeviceAttentionPlan::create(*shape, DTypeOf<T>::value, options);
}

}  // namespace

template <class T>
Status attention(TensorView<const T, 4> query, TensorView<const T, 4> key,
                 TensorView<const T, 4> value, const DeviceOutputs<T>& outputs,
                 const AttentionOptions& options) try {
  const DeviceInputs<T> inputs = {query, key, value};
  const auto plan = plan_of<T>(inputs, options);
  return plan ? plan->run(inputs, outputs) : plan.error();
} catch (...) {
  return caught_out_of_memory();
}

template <class T>
Status attention_backward(const DeviceBackwardInputs<T>& inputs,
                          const DeviceGradients<T>& gradients,
                          const AttentionOptions& options) try {
  const auto plan = plan_of<T>(inputs, options);
  return plan ? plan->run_backward(inputs, gradients) : plan.error();
} catch (...) {
  return caught_out_of_memory();
}

#define HEADWISE_DEVICE_TYPE(T)                                              \
  template Status DeviceAttentionPlan::run(const DeviceInputs<T>&,           \
                                           const DeviceOutputs<T>&) const;   \
  template Status DeviceAttentionPlan::run_backward(                         \
      const DeviceBackwardInputs<T>&, const DeviceGradients<T>&) const;      \
  template Status attention(TensorView<const T, 4>, TensorView<const T, 4>,  \
                            TensorView<const T, 4>, const DeviceOutputs<T>&, \
                            const AttentionOptions&);                        \
  template Status attention_backward(const DeviceBackwardInputs<T>&,         \
                                     const DeviceGradients<T>&,              \
                                     const AttentionOptions&);
HEADWISE_DEVICE_TYPE(BFloat16)
HEADWISE_DEVICE_TYPE(Float16)
#undef HEADWISE_DEVICE_TYPE

}  // namespace headwise::inline HEADWISE_ABI
