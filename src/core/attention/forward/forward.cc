#include "headwise/attention/forward.h"

#include "attention/planned_call.h"
#include "base/out_of_memory.h"
#include "headwise/attention/device_attention.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

template <class T>
Status attend(const AttentionInputsOf<T>& inputs,
              const AttentionOutputsOf<T>& outputs,
              const AttentionOptions& options,
              const OperationOptions& operation_options) {
  const auto shape = attention_shape(
      inputs.query.extents(), inputs.key.extents(), inputs.value.extents());
  HEADWISE_TRY(shape);
  if constexpr (DeviceElement<T>) {
    if (operation_options.device.kind != Device::Kind::cpu) {
      const auto plan =
          DeviceAttentionPlan<T>::create(*shape, options, operation_options);
      HEADWISE_TRY(plan);
      return plan->run(inputs, outputs);
    }
  }
  const auto call = PlannedCall::create(*shape, options, operation_options);
  HEADWISE_TRY(call);
  return call->run(inputs, outputs);
}

}  // namespace

#define HEADWISE_ATTENTION(T)                                                  \
  Status attention(TensorView<const T, 4> query, TensorView<const T, 4> key,   \
                   TensorView<const T, 4> value,                               \
                   const AttentionOutputsOf<T>& outputs,                       \
                   const AttentionOptions& options,                            \
                   const OperationOptions& operation_options) try {            \
    return attend<T>({query, key, value}, outputs, options,                    \
                     operation_options);                                       \
  } catch (...) {                                                              \
    return caught_out_of_memory();                                             \
  }                                                                            \
  Status attention(TensorView<const T, 4> query, TensorView<const T, 4> key,   \
                   TensorView<const T, 4> value, TensorView<T, 4> output,      \
                   const AttentionOptions& options,                            \
                   const OperationOptions& operation_options) {                \
    return attention(query, key, value,                                        \
                     AttentionOutputsOf<T>{.output = output}, options,         \
                     operation_options);                                       \
  }                                                                            \
  Status attention(TensorView<const T, 3> query, TensorView<const T, 3> key,   \
                   TensorView<const T, 3> value, TensorView<T, 3> output,      \
                   const AttentionOptions& options,                            \
                   const OperationOptions& operation_options) {                \
    return attention(as_batch_of_one(query), as_batch_of_one(key),             \
                     as_batch_of_one(value), as_batch_of_one(output), options, \
                     operation_options);                                       \
  }
HEADWISE_ATTENTION(float)
HEADWISE_ATTENTION(BFloat16)
HEADWISE_ATTENTION(Float16)
#undef HEADWISE_ATTENTION

}  // namespace headwise::inline HEADWISE_ABI
