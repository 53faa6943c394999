#include "attention/planned_call.h"

#include <string>
#include <utility>

#include "attention/check_call.h"
#include "attention/check_parts.h"
#include "attention/kernel.h"
#include "attention/ragged_weights.h"
#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/kernels/targets.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// An empty batch may have any number of sequences.
bool has_no_query(const AttentionSpec& spec) {
  return spec.shape.B == 0 || spec.shape.Lq == 0;
}

std::size_t spec_bytes(const AttentionSpec& spec, const Schedule& schedule) {
  if (has_no_query(spec)) {
    return 0;
  }
  if (schedule.few_rows()) {
    return few_rows_workspace_bytes(spec, schedule);
  }
  return spec.statistics.any() ? statistics_workspace_bytes(spec, schedule)
                               : forward_workspace_bytes(spec, schedule);
}

}  // namespace

PlannedCall::PlannedCall(AttentionSpec spec)
    : spec_(std::move(spec)),
      schedule_(schedule_of(spec_)),
      workspace_bytes_(spec_bytes(spec_, schedule_)) {}

Result<PlannedCall> PlannedCall::create(
    const AttentionShape& shape, const AttentionOptions& options,
    const OperationOptions& operation_options) try {
  HEADWISE_TRY(check_target());
  HEADWISE_TRY(check_all_queries("attention", operation_options));
  auto spec = AttentionSpec::create(shape, options, operation_options);
  HEADWISE_TRY(spec);
  return PlannedCall(*std::move(spec));
} catch (...) {
  return caught_out_of_memory();
}

template <class T>
Status PlannedCall::run(const AttentionInputsOf<T>& inputs,
                        const AttentionOutputsOf<T>& outputs,
                        Workspace& workspace) const try {
  HEADWISE_TRY(check_forward(spec_, inputs, outputs));
  return run_checked(CallInputs(inputs), CallOutputs(outputs), workspace);
} catch (...) {
  return caught_out_of_memory();
}

Status PlannedCall::run_checked(const CallInputs& inputs,
                                const CallOutputs& outputs,
                                Workspace& workspace) const {
  if (workspace.bytes() < workspace_bytes_) {
    return value_error("attention", "workspace",
                       std::to_string(workspace.bytes()) + " bytes",
                       std::to_string(workspace_bytes_) + " or more");
  }
  if (has_no_query(spec_)) {
    return ok();
  }
  const auto kernel = schedule_.few_rows()     ? few_rows_kernel
                      : spec_.statistics.any() ? statistics_kernel
                                               : forward_kernel;
  kernel({spec_, schedule_, inputs, outputs}, workspace.data());
  fill_beyond_sequences<float>(spec_, outputs);
  return ok();
}

template <class T>
Status PlannedCall::run(const AttentionInputsOf<T>& inputs,
                        const AttentionOutputsOf<T>& outputs) const try {
  auto workspace = Workspace::create(workspace_bytes_);
  HEADWISE_TRY(workspace);
  return run(inputs, outputs, *workspace);
} catch (...) {
  return caught_out_of_memory();
}

#define HEADWISE_RUN(T)                                                      \
  template Status PlannedCall::run(const AttentionInputsOf<T>&,              \
                                   const AttentionOutputsOf<T>&, Workspace&) \
      const;                                                                 \
  template Status PlannedCall::run(const AttentionInputsOf<T>&,              \
                                   const AttentionOutputsOf<T>&) const;
HEADWISE_RUN(float)
HEADWISE_RUN(BFloat16)
HEADWISE_RUN(Float16)
#undef HEADWISE_RUN

}  // namespace headwise::inline HEADWISE_ABI
