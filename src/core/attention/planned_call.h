// A call that was checked, and how its work is divided: what an AttentionPlan
// owns, and what a single call of attention() keeps on its stack.
#pragma once

#include <cstddef>

#include "attention/schedule.h"
#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/run/workspace.h"

namespace headwise::inline HEADWISE_ABI {

// Its functions are those of AttentionPlan. In a small call each move of it
// shows: HEADWISE_ASSIGN(const auto& call, ...) makes none.
class PlannedCall {
 public:
  static Result<PlannedCall> create(AttentionSpec&& spec);
  static Result<PlannedCall> create(const AttentionShape& shape,
                                    const AttentionOptions& options,
                                    const OperationOptions& operation_options);

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  const AttentionSpec& spec() const { return spec_; }

  Status run(const CallTensors& tensors, Workspace& workspace,
             const Offsets& offsets = {}) const;
  Status run(const CallTensors& tensors, const Offsets& offsets = {}) const;

 private:
  explicit PlannedCall(AttentionSpec&& spec);

  Status run_spec(const AttentionSpec& spec, const CallTensors& tensors,
                  Workspace& workspace) const;

  AttentionSpec spec_;
  Schedule schedule_;
  std::size_t workspace_bytes_;
};

}  // namespace headwise::inline HEADWISE_ABI
