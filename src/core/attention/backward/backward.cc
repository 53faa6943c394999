#include "headwise/attention/backward.h"

#include "attention/backward/backward_kernel.h"
#include "attention/check_call.h"
#include "base/out_of_memory.h"
#include "headwise/attention/device_attention.h"
#include "headwise/kernels/targets.h"
#include "headwise/run/workspace.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// With tensors that were found to fit the spec.
Status run_checked(AttentionSpec& spec, const BackwardCallInputs& inputs,
                   const CallGradients& gradients) {
  if (AttentionShape& shape = spec.shape;
      !shape.offsets.ragged() && shape.Lq == 0 && shape.Lkv == 0) {
    shape.B = 0;  // empty sequences, of which there may be any number
  }
  const BackwardSchedule schedule = backward_schedule_of(spec);
  auto workspace =
      Workspace::create(backward_workspace_bytes(spec, schedule, gradients));
  HEADWISE_TRY(workspace);
  backward_kernel(spec, schedule, inputs, gradients, workspace->data());
  return ok();
}

template <class T>
Status differentiate(const BackwardInputsOf<T>& inputs,
                     const AttentionGradientsOf<T>& gradients,
                     const AttentionOptions& options,
                     const OperationOptions& operation_options) {
  if constexpr (DeviceElement<T>) {
    if (operation_options.device.kind != Device::Kind::cpu) {
      const auto shape = attention_shape(
          inputs.query.extents(), inputs.key.extents(), inputs.value.extents());
      HEADWISE_TRY(shape);
      const auto plan =
          DeviceAttentionPlan<T>::create(*shape, options, operation_options);
      HEADWISE_TRY(plan);
      return plan->run_backward(inputs, gradients);
    }
  }
  HEADWISE_TRY(check_target());
  auto spec = backward_spec(inputs, gradients, options, operation_options);
  HEADWISE_TRY(spec);
  return run_checked(*spec, BackwardCallInputs(inputs),
                     CallGradients(gradients));
}

}  // namespace

#define HEADWISE_BACKWARD(T)                                                 \
  Status attention_backward(const BackwardInputsOf<T>& inputs,               \
                            const AttentionGradientsOf<T>& gradients,        \
                            const AttentionOptions& options,                 \
                            const OperationOptions& operation_options) try { \
    return differentiate(inputs, gradients, options, operation_options);     \
  } catch (...) {                                                            \
    return caught_out_of_memory();                                           \
  }
HEADWISE_BACKWARD(float)
HEADWISE_BACKWARD(BFloat16)
HEADWISE_BACKWARD(Float16)
#undef HEADWISE_BACKWARD

}  // namespace headwise::inline HEADWISE_ABI
