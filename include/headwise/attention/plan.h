// Attention in two steps: check and prepare once, run many times. Threads may
// share a plan; each has a workspace of its own.
//
// Example:
//   AttentionPlan plan =
//       AttentionPlan::create({.B = 1, .Hq = 8, .Hkv = 8, .Lq = 20, .Lkv = 20,
//                              .D = 64, .Dv = 64}, options).value();
//   Workspace workspace = Workspace::create(plan.workspace_bytes()).value();
//   Status s = plan.run(q, k, v, {.output = out}, workspace);
#pragma once

#include <cstddef>
#include <utility>

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/half.h"
#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/workspace.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {
class PlannedCall;  // not exported
}  // namespace headwise::inline HEADWISE_ABI

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class AttentionPlan {
 public:
  // The views inside the options must outlive the plan. Errors: those of
  // AttentionSpec::create; out_of_memory, also where a run would need more
  // memory than the machine has.
  static Result<AttentionPlan> create(
      const AttentionShape& shape, const AttentionOptions& options,
      const OperationOptions& operation_options = {});

  // The size of the memory that a run needs.
  std::size_t workspace_bytes() const;

  // The tensors have the plan's sizes, and outputs have their own memory;
  // `workspace` has at least workspace_bytes(), and no other run uses it
  // meanwhile. Allocates nothing and takes no lock (except inside oneTBB, with
  // several threads). A plan for a ragged batch takes the `offsets` of this
  // run: as many sequences as the plan was created for, none longer than the
  // longest of those; not given: the plan's own. Errors: shape_mismatch,
  // out_of_range, invalid_argument for a workspace that is too small, for an
  // output that shares memory with another tensor and for offsets of a plan
  // without; then no output was written.
  Status run(const CallTensors& tensors, Workspace& workspace,
             const Offsets& offsets = {}) const;
  // The same, in memory that it allocates. Errors: also out_of_memory.
  Status run(const CallTensors& tensors, const Offsets& offsets = {}) const;
  // Both for tensors of each type, with the same plan.
#define HEADWISE_RUN(T)                                                       \
  Status run(TensorView<const T, 4> query, TensorView<const T, 4> key,        \
             TensorView<const T, 4> value,                                    \
             const AttentionOutputsOf<T>& outputs, Workspace& workspace,      \
             const Offsets& offsets = {}) const {                             \
    return run(CallTensors(AttentionInputsOf<T>{query, key, value}, outputs), \
               workspace, offsets);                                           \
  }                                                                           \
  Status run(TensorView<const T, 4> query, TensorView<const T, 4> key,        \
             TensorView<const T, 4> value,                                    \
             const AttentionOutputsOf<T>& outputs,                            \
             const Offsets& offsets = {}) const {                             \
    return run(CallTensors(AttentionInputsOf<T>{query, key, value}, outputs), \
               offsets);                                                      \
  }
  HEADWISE_RUN(float)
  HEADWISE_RUN(BFloat16)
  HEADWISE_RUN(Float16)
#undef HEADWISE_RUN

  const AttentionSpec& spec() const;

 private:
  explicit AttentionPlan(Hidden<PlannedCall> call) : call_(std::move(call)) {}

  Hidden<PlannedCall> call_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
