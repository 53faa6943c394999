#include "attention/planned_call.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "attention/check_call.h"
#include "attention/check_parts.h"
#include "attention/kernel.h"
#include "attention/ragged_weights.h"
#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/base/checked_product.h"
#include "headwise/kernels/targets.h"
#include "run/machine_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// An empty batch may have any number of sequences.
bool has_no_query(const AttentionSpec& spec) {
  return spec.shape.B == 0 || spec.shape.Lq == 0;
}

// Errors: out_of_memory if the size of a tensor overflows; that of the
// workspace would, too.
Status check_sizes(const AttentionSpec& spec) {
  const AttentionShape& shape = spec.shape;
  const std::size_t size = std::max(shape.D, shape.Dv);
  const auto fits = [&](std::size_t heads, std::size_t rows) {
    return checked_product(std::array<std::size_t, 5>{shape.B, heads, rows,
                                                      size, 2 * sizeof(float)})
        .has_value();
  };
  return has_no_query(spec) ||
                 (fits(shape.Hq, shape.Lq) && fits(shape.Hkv, shape.Lkv))
             ? ok()
             : Status(Error::no_memory_for(~std::uint64_t{0}));
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

PlannedCall::PlannedCall(AttentionSpec&& spec)
    : spec_(std::move(spec)),
      schedule_(schedule_of(spec_)),
      workspace_bytes_(spec_bytes(spec_, schedule_)) {}

Result<PlannedCall> PlannedCall::create(AttentionSpec&& spec) {
  HEADWISE_TRY(check_target());
  HEADWISE_TRY(check_all_queries("attention", spec.query_part));
  HEADWISE_TRY(check_sizes(spec));
  PlannedCall call(std::move(spec));
  HEADWISE_TRY(check_machine_has(call.workspace_bytes_));
  return call;
}

Result<PlannedCall> PlannedCall::create(
    const AttentionShape& shape, const AttentionOptions& options,
    const OperationOptions& operation_options) try {
  HEADWISE_ASSIGN(auto&& spec,
                  AttentionSpec::create(shape, options, operation_options));
  return create(std::move(spec));
} catch (...) {
  return caught_out_of_memory();
}

Status PlannedCall::run(const CallTensors& tensors, Workspace& workspace,
                        const Offsets& offsets) const try {
  if (!offsets.ragged()) {
    return run_spec(spec_, tensors, workspace);
  }
  AttentionSpec of_run = spec_;
  HEADWISE_TRY(of_run.set_offsets(offsets));
  return run_spec(of_run, tensors, workspace);
} catch (...) {
  return caught_out_of_memory();
}

Status PlannedCall::run_spec(const AttentionSpec& spec,
                             const CallTensors& tensors,
                             Workspace& workspace) const {
  HEADWISE_TRY(check_call("attention", spec, tensors));
  if (workspace.bytes() < workspace_bytes_) {
    return argument_error("attention", "workspace",
                          message("is {} bytes", workspace.bytes()),
                          message("{} or more", workspace_bytes_));
  }
  if (has_no_query(spec)) {
    return ok();
  }
  const auto kernel = schedule_.few_rows()    ? few_rows_kernel
                      : spec.statistics.any() ? statistics_kernel
                                              : forward_kernel;
  kernel({spec, schedule_, tensors}, workspace.data());
  fill_beyond_sequences<float>(spec, tensors);
  return ok();
}

Status PlannedCall::run(const CallTensors& tensors,
                        const Offsets& offsets) const try {
  HEADWISE_ASSIGN(auto workspace, Workspace::create(workspace_bytes_));
  return run(tensors, workspace, offsets);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
