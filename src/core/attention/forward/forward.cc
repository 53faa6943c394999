#include "headwise/attention/forward.h"

#include "attention/check_call.h"
#include "attention/planned_call.h"
#include "base/for_number_type.h"
#include "base/out_of_memory.h"
#include "headwise/attention/device_attention.h"

namespace headwise::inline HEADWISE_ABI {

Status attention(const CallTensors& tensors, const AttentionOptions& options,
                 const OperationOptions& operation_options) try {
  HEADWISE_ASSIGN(const auto shape, attention_shape(tensors));
  const DType dtype = tensors[CallTensor::query].dtype();
  return for_number_type(dtype, [&]<class T>(T) -> Status {
    if constexpr (DeviceElement<T>) {
      if (operation_options.device.kind != Device::Kind::cpu) {
        HEADWISE_ASSIGN(
            const auto plan,
            DeviceAttentionPlan<T>::create(shape, options, operation_options));
        return plan.run(tensors);
      }
    }
    HEADWISE_ASSIGN(const auto& call,
                    PlannedCall::create(shape, options, operation_options));
    return call.run(tensors);
  });
} catch (...) {
  return caught_out_of_memory();
}

Status attention(const CallTensors& tensors, const AttentionSpec& spec) try {
  HEADWISE_ASSIGN(const auto& call, PlannedCall::create(AttentionSpec(spec)));
  return call.run(tensors);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
