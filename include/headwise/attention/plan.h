// Attention in two steps: check and prepare once, run many times.
//
// Example:
//   AttentionPlan plan =
//       AttentionPlan::create({.B = 1, .Hq = 8, .Hkv = 8, .Lq = 20, .Lkv = 20,
//                              .D = 64, .Dv = 64}, options).value();
//   Workspace workspace = Workspace::create(plan.workspace_bytes()).value();
//   Status s = plan.run(q, k, v, {.output = out}, workspace);
#pragma once

#include <cstddef>
#include <memory>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/workspace.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class PlannedCall;

class AttentionPlan {
 public:
  // The views inside `options` must outlive the plan. Errors: those of
  // AttentionSpec::create, out_of_memory.
  static Result<AttentionPlan> create(const AttentionShape& shape,
                                      const AttentionOptions& options);
  AttentionPlan(AttentionPlan&&) noexcept;
  AttentionPlan& operator=(AttentionPlan&&) noexcept;
  ~AttentionPlan();

  // The memory that a run computes in.
  std::size_t workspace_bytes() const;

  // Of a ragged batch: the next runs have these sequences, as many as those the
  // plan was created for and none longer than the longest of those. Allocates
  // nothing; no run may use the plan meanwhile. The views must outlive those
  // runs. Errors: invalid_argument for a plan that has no offsets;
  // shape_mismatch, out_of_range; the plan is then as before.
  Status set_offsets(const Offsets& offsets);

  // Tensors of the plan's sizes, outputs in memory of their own; `workspace`
  // has workspace_bytes() or more, and no other run uses it meanwhile.
  // Allocates nothing and takes no lock (what oneTBB does with several threads
  // apart). Errors: shape_mismatch, invalid_argument for a workspace that is
  // too small and for an output in the memory of another tensor; then no output
  // was written.
  Status run(TensorView<const float, 4> query, TensorView<const float, 4> key,
             TensorView<const float, 4> value, const AttentionOutputs& outputs,
             Workspace& workspace) const;
  // The same in memory of its own. Errors: also out_of_memory.
  Status run(TensorView<const float, 4> query, TensorView<const float, 4> key,
             TensorView<const float, 4> value,
             const AttentionOutputs& outputs) const;

  const AttentionSpec& spec() const;

 private:
  explicit AttentionPlan(std::unique_ptr<PlannedCall> call);

  std::unique_ptr<PlannedCall> call_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
