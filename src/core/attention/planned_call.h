// A call that was checked, and how its work is divided: what an AttentionPlan
// owns, and what a single call of attention() keeps on its stack.
#pragma once

#include <cstddef>

#include "attention/call_views.h"
#include "attention/schedule.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/result.h"
#include "headwise/run/workspace.h"

namespace headwise::inline HEADWISE_ABI {

// Its functions are those of AttentionPlan.
class PlannedCall {
 public:
  static Result<PlannedCall> create(const AttentionShape& shape,
                                    const AttentionOptions& options,
                                    const OperationOptions& operation_options);

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  const AttentionSpec& spec() const { return spec_; }

  // T is float, BFloat16 or Float16.
  template <class T>
  Status run(const AttentionInputsOf<T>& inputs,
             const AttentionOutputsOf<T>& outputs, Workspace& workspace,
             const Offsets& offsets = {}) const;
  template <class T>
  Status run(const AttentionInputsOf<T>& inputs,
             const AttentionOutputsOf<T>& outputs,
             const Offsets& offsets = {}) const;

 private:
  explicit PlannedCall(AttentionSpec spec);

  // With tensors that were checked.
  Status run_checked(const AttentionSpec& spec, const CallInputs& inputs,
                     const CallOutputs& outputs, Workspace& workspace) const;
  template <class T>
  Status run_spec(const AttentionSpec& spec, const AttentionInputsOf<T>& inputs,
                  const AttentionOutputsOf<T>& outputs,
                  Workspace& workspace) const;

  AttentionSpec spec_;
  Schedule schedule_;
  std::size_t workspace_bytes_;
};

}  // namespace headwise::inline HEADWISE_ABI
