#include "headwise/attention/plan.h"

#include <utility>

#include "attention/planned_call.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {

Result<AttentionPlan> AttentionPlan::create(
    const AttentionShape& shape, const AttentionOptions& options,
    const OperationOptions& operation_options) try {
  HEADWISE_ASSIGN(auto&& call,
                  PlannedCall::create(shape, options, operation_options));
  return AttentionPlan(std::make_unique<PlannedCall>(std::move(call)));
} catch (...) {
  return caught_out_of_memory();
}

std::size_t AttentionPlan::workspace_bytes() const {
  return call_->workspace_bytes();
}

const AttentionSpec& AttentionPlan::spec() const { return call_->spec(); }

Status AttentionPlan::run(const CallTensors& tensors, Workspace& workspace,
                          const Offsets& offsets) const {
  return call_->run(tensors, workspace, offsets);
}
Status AttentionPlan::run(const CallTensors& tensors,
                          const Offsets& offsets) const {
  return call_->run(tensors, offsets);
}

}  // namespace headwise::inline HEADWISE_ABI
