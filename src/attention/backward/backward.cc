#include "headwise/attention/backward.h"

#include "attention/backward/backward_kernel.h"
#include "attention/check_call.h"
#include "base/out_of_memory.h"
#include "headwise/kernels/targets.h"
#include "headwise/run/workspace.h"

namespace headwise::inline HEADWISE_ABI {

Status attention_backward(const BackwardInputs& inputs,
                          const AttentionGradients& gradients,
                          const AttentionOptions& options,
                          const OperationOptions& operation_options) try {
  HEADWISE_TRY(check_target());
  auto spec = backward_spec(inputs, gradients, options, operation_options);
  HEADWISE_TRY(spec);
  if (AttentionShape& shape = spec->shape;
      !shape.offsets.ragged() && shape.Lq == 0 && shape.Lkv == 0) {
    shape.B = 0;  // empty sequences, of which there may be any number
  }
  const BackwardSchedule schedule = backward_schedule_of(*spec);
  auto workspace =
      Workspace::create(backward_workspace_bytes(*spec, schedule, gradients));
  HEADWISE_TRY(workspace);
  backward_kernel(*spec, schedule, inputs, gradients, workspace->data());
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
