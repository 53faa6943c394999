#include "headwise/attention/backward.h"

#include <new>

#include "attention/backward_kernel.h"
#include "attention/backward_spec.h"
#include "headwise/kernels/targets.h"
#include "headwise/run/workspace.h"

namespace headwise::inline HEADWISE_ABI {

Status attention_backward(const BackwardInputs& inputs,
                          const AttentionGradients& gradients,
                          const AttentionOptions& options) {
  if (Status s = check_target(); !s) {
    return s;
  }
  try {
    const auto spec = backward_spec(inputs, gradients, options);
    if (!spec) {
      return spec.error();
    }
    const BackwardSchedule schedule = backward_schedule_of(*spec);
    auto workspace =
        Workspace::create(backward_workspace_bytes(*spec, schedule, gradients));
    if (!workspace) {
      return workspace.error();
    }
    backward_kernel(*spec, schedule, inputs, gradients, workspace->data());
    return ok();
  } catch (const std::bad_alloc&) {
    return Error{
        ErrorCode::out_of_memory,
        "attention_backward: the masks need more memory than there is"};
  }
}

}  // namespace headwise::inline HEADWISE_ABI
