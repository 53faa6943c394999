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
#include "headwise/attention/tensors.h"
#include "headwise/base/half.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/workspace.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class PlannedCall;

class AttentionPlan {
 public:
  // The views inside the options must outlive the plan. Errors: those of
  // AttentionSpec::create, out_of_memory.
  static Result<AttentionPlan> create(
      const AttentionShape& shape, const AttentionOptions& options,
      const OperationOptions& operation_options = {});
  AttentionPlan(AttentionPlan&&) noexcept;
  AttentionPlan& operator=(AttentionPlan&&) noexcept;
  ~AttentionPlan();

  // The size of the memory that a run needs.
  std::size_t workspace_bytes() const;

  // For a ragged batch: the next runs have these sequences, as many as the plan
  // was created for and none longer than the longest of those. Allocates
  // nothing; no run may use the plan meanwhile. The views must outlive the
  // runs. Errors: invalid_argument for a plan that has no offsets;
  // shape_mismatch, out_of_range; the plan is then as before.
  Status set_offsets(const Offsets& offsets);

  // The tensors have the plan's sizes, and outputs have their own memory;
  // `workspace` has at least workspace_bytes(), and no other run uses it
  // meanwhile. Allocates nothing and takes no lock (except inside oneTBB, with
  // several threads). Errors: shape_mismatch, invalid_argument for a workspace
  // that is too small and for an output that shares memory with another tensor;
  // then no output was written.
  Status run(TensorView<const float, 4> query, TensorView<const float, 4> key,
             TensorView<const float, 4> value, const AttentionOutputs& outputs,
             Workspace& workspace) const;
  // The same, in memory that it allocates. Errors: also out_of_memory.
  Status run(TensorView<const float, 4> query, TensorView<const float, 4> key,
             TensorView<const float, 4> value,
             const AttentionOutputs& outputs) const;
  // The same of 16-bit tensors (attention/forward.h), with the same plan.
#define HEADWISE_RUN(T)                                                  \
  Status run(TensorView<const T, 4> query, TensorView<const T, 4> key,   \
             TensorView<const T, 4> value,                               \
             const AttentionOutputsOf<T>& outputs, Workspace& workspace) \
      const;                                                             \
  Status run(TensorView<const T, 4> query, TensorView<const T, 4> key,   \
             TensorView<const T, 4> value,                               \
             const AttentionOutputsOf<T>& outputs) const;
  HEADWISE_RUN(BFloat16)
  HEADWISE_RUN(Float16)
#undef HEADWISE_RUN

  const AttentionSpec& spec() const;

 private:
  explicit AttentionPlan(std::unique_ptr<PlannedCall> call);

  std::unique_ptr<PlannedCall> call_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
