#include "headwise/attention/plan.h"

#include "attention/kernel.h"
#include "base/check.h"
#include "headwise/kernels/targets.h"

namespace headwise {

Result<AttentionPlan> AttentionPlan::create(const AttentionShape& shape,
                                            const AttentionOptions& options) {
  if (const auto target = current_target(); !target) {
    return target.error();
  }
  auto spec = AttentionSpec::create(shape, options);
  if (!spec) {
    return spec.error();
  }
  return AttentionPlan(*std::move(spec));
}

Status AttentionPlan::run(TensorView<const float, 4> query,
                          TensorView<const float, 4> key,
                          TensorView<const float, 4> value,
                          const AttentionOutputs& outputs) const {
  const auto& [B, Hq, Hkv, Lq, Lkv, D, Dv] = spec_.shape;
  if (Status s = check_shape("attention", "query", query.extents(),
                             "(B, Lq, Hq, D)", {{B, Lq, Hq, D}});
      !s) {
    return s;
  }
  if (Status s = check_shape("attention", "key", key.extents(),
                             "(B, Lkv, Hkv, D)", {{B, Lkv, Hkv, D}});
      !s) {
    return s;
  }
  if (Status s = check_shape("attention", "value", value.extents(),
                             "(B, Lkv, Hkv, Dv)", {{B, Lkv, Hkv, Dv}});
      !s) {
    return s;
  }
  if (Status s = check_outputs(spec_, outputs); !s) {
    return s;
  }
  return forward_kernel(spec_, {query, key, value}, outputs);
}

}  // namespace headwise
