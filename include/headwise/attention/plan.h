// Attention in two moves: check and choose once, run many times.
//
// Example:
//   AttentionPlan plan =
//       AttentionPlan::create({.B = 1, .Hq = 8, .Hkv = 8, .Lq = 20, .Lkv = 20,
//                              .D = 64, .Dv = 64}, options).value();
//   Status s = plan.run(q, k, v, {.output = out});
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"

namespace headwise {

class AttentionPlan {
 public:
  // The views inside `options` must outlive the plan. Errors: those of
  // AttentionSpec::create.
  static Result<AttentionPlan> create(const AttentionShape& shape,
                                      const AttentionOptions& options);

  // Tensors of the plan's sizes. Errors: shape_mismatch, out_of_memory; then
  // no output was written.
  Status run(TensorView<const float, 4> query, TensorView<const float, 4> key,
             TensorView<const float, 4> value,
             const AttentionOutputs& outputs) const;

  const AttentionSpec& spec() const { return spec_; }

 private:
  explicit AttentionPlan(AttentionSpec spec) : spec_(std::move(spec)) {}

  AttentionSpec spec_;
};

}  // namespace headwise
