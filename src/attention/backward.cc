#include "headwise/attention/backward.h"

#include <new>

#include "attention/backward_kernel.h"
#include "attention/check_gradients.h"
#include "headwise/kernels/targets.h"
#include "headwise/run/workspace.h"

namespace headwise {

Status attention_backward(const BackwardInputs& inputs,
                          const AttentionGradients& gradients,
                          const AttentionOptions& options) {
  if (Status s = check_target(); !s) {
    return s;
  }
  const auto shape = attention_shape(
      inputs.query.extents(), inputs.key.extents(), inputs.value.extents());
  if (!shape) {
    return shape.error();
  }
  try {
    const auto spec =
        AttentionSpec::create(*shape, options, "attention_backward");
    if (!spec) {
      return spec.error();
    }
    if (Status s = check_gradients(*spec, inputs, gradients); !s) {
      return s;
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

}  // namespace headwise
