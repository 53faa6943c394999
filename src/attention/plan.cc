#include "headwise/attention/plan.h"

#include <new>
#include <string>
#include <utility>

#include "attention/kernel.h"
#include "base/check.h"
#include "headwise/kernels/targets.h"

namespace headwise {
namespace {

Status check_inputs(const AttentionShape& shape,
                    const AttentionInputsOf<float>& inputs) {
  const std::size_t B = shape.batches();
  const std::size_t queries = shape.query_rows();
  const std::size_t keys = shape.key_rows();
  const bool ragged = shape.offsets.ragged();
  if (Status s = check_shape("attention", "query", inputs.query.extents(),
                             ragged ? "(1, queries, Hq, D)" : "(B, Lq, Hq, D)",
                             {{B, queries, shape.Hq, shape.D}});
      !s) {
    return s;
  }
  if (Status s = check_shape("attention", "key", inputs.key.extents(),
                             ragged ? "(1, keys, Hkv, D)" : "(B, Lkv, Hkv, D)",
                             {{B, keys, shape.Hkv, shape.D}});
      !s) {
    return s;
  }
  if (Status s =
          check_shape("attention", "value", inputs.value.extents(),
                      ragged ? "(1, keys, Hkv, Dv)" : "(B, Lkv, Hkv, Dv)",
                      {{B, keys, shape.Hkv, shape.Dv}});
      !s || !ragged) {
    return s;
  }
  // The offsets are looked at in each run; they may have moved.
  if (Status s = shape.offsets.check(queries, keys, "attention"); !s) {
    return s;
  }
  if (longest(shape.offsets.query) > shape.Lq ||
      longest(shape.offsets.key) > shape.Lkv) {
    return value_error("attention", "the longest sequence of offsets",
                       "longer than the plan's",
                       "at most " + std::to_string(shape.Lq) + " queries and " +
                           std::to_string(shape.Lkv) + " keys",
                       ErrorCode::out_of_range);
  }
  return ok();
}

}  // namespace

AttentionPlan::AttentionPlan(AttentionSpec spec)
    : spec_(std::move(spec)),
      schedule_(schedule_of(spec_)),
      workspace_bytes_(headwise::workspace_bytes(spec_, schedule_)) {}

Result<AttentionPlan> AttentionPlan::create(const AttentionShape& shape,
                                            const AttentionOptions& options) {
  if (Status s = check_target(); !s) {
    return s.error();
  }
  try {
    auto spec = AttentionSpec::create(shape, options);
    if (!spec) {
      return spec.error();
    }
    return AttentionPlan(*std::move(spec));
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory,
                 "attention: the plan needs more memory than there is"};
  }
}

Status AttentionPlan::run(TensorView<const float, 4> query,
                          TensorView<const float, 4> key,
                          TensorView<const float, 4> value,
                          const AttentionOutputs& outputs,
                          Workspace& workspace) const {
  const AttentionInputsOf<float> inputs{query, key, value};
  if (Status s = check_inputs(spec_.shape, inputs); !s) {
    return s;
  }
  if (Status s = check_outputs(spec_, outputs); !s) {
    return s;
  }
  if (workspace.bytes() < workspace_bytes_) {
    return value_error("attention", "workspace",
                       std::to_string(workspace.bytes()) + " bytes",
                       std::to_string(workspace_bytes_) + " or more");
  }
  forward_kernel(spec_, schedule_, inputs, outputs, workspace.data());
  return ok();
}

Status AttentionPlan::run(TensorView<const float, 4> query,
                          TensorView<const float, 4> key,
                          TensorView<const float, 4> value,
                          const AttentionOutputs& outputs) const {
  auto workspace = Workspace::create(workspace_bytes_);
  if (!workspace) {
    return workspace.error();
  }
  return run(query, key, value, outputs, *workspace);
}

}  // namespace headwise
