#include "headwise/attention/backward.h"

#include <utility>

#include "attention/backward/backward_kernel.h"
#include "attention/check_call.h"
#include "base/for_number_type.h"
#include "base/out_of_memory.h"
#include "headwise/attention/device_attention.h"
#include "headwise/kernels/targets.h"
#include "headwise/run/workspace.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// With tensors that were found to fit the spec.
Status run_checked(AttentionSpec spec, const CallTensors& tensors) {
  if (AttentionShape& shape = spec.shape;
      !shape.offsets.ragged() && shape.Lq == 0 && shape.Lkv == 0) {
    shape.B = 0;  // empty sequences, of which there may be any number
  }
  const BackwardSchedule schedule = backward_schedule_of(spec);
  HEADWISE_ASSIGN(auto workspace, Workspace::create(backward_workspace_bytes(
                                      spec, schedule, tensors)));
  backward_kernel(spec, schedule, tensors, workspace.data());
  return ok();
}

}  // namespace

Status attention_backward(const CallTensors& tensors,
                          const AttentionOptions& options,
                          const OperationOptions& operation_options) try {
  const DType dtype = tensors[CallTensor::query].dtype();
  return for_number_type(dtype, [&]<class T>(T) -> Status {
    if constexpr (DeviceElement<T>) {
      if (operation_options.device.kind != Device::Kind::cpu) {
        HEADWISE_ASSIGN(const auto shape, attention_shape(tensors));
        HEADWISE_ASSIGN(
            const auto plan,
            DeviceAttentionPlan<T>::create(shape, options, operation_options));
        return plan.run_backward(tensors);
      }
    }
    HEADWISE_TRY(check_target());
    HEADWISE_ASSIGN(auto spec,
                    backward_spec(tensors, options, operation_options));
    return run_checked(std::move(spec), tensors);
  });
} catch (...) {
  return caught_out_of_memory();
}

Status attention_backward(const CallTensors& tensors,
                          const AttentionSpec& spec) try {
  HEADWISE_TRY(check_target());
  HEADWISE_TRY(check_backward(spec, tensors));
  return run_checked(spec, tensors);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
