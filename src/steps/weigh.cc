#include "headwise/steps/weigh.h"

#include <cmath>

#include "base/check.h"
#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "steps/rows.h"
#include "steps/step_checks.h"

namespace headwise::inline HEADWISE_ABI {

namespace {

Status check_weigh(const TensorView<const float, 4>& attn_weights,
                   const GroupedHeads& value, const BoundMask& mask,
                   const TensorView<const float, 3>& lse,
                   const TensorView<float, 4>& context) {
  const auto [B, Hq, Lq, Lkv] = attn_weights.extents();
  const std::size_t Hkv = value.heads.extent(2);
  const std::size_t Dv = value.heads.extent(3);
  HEADWISE_TRY(check_grouped_heads("weigh", "value", value, "(B, Lkv, Hkv, Dv)",
                                   {B, Lkv, Hkv, Dv}, Hq));
  HEADWISE_TRY(check_bound_to_scores("weigh", "mask", mask.shape(),
                                     attn_weights.extents()));
  HEADWISE_TRY(
      check_shape("weigh", "lse", lse.extents(), "(B, Hq, Lq)", {{B, Hq, Lq}}));
  return check_shape("weigh", "context", context.extents(), "(B, Lq, Hq, Dv)",
                     {{B, Lq, Hq, Dv}});
}

}  // namespace

Status weigh(TensorView<const float, 4> attn_weights, const GroupedHeads& value,
             const BoundMask& mask, TensorView<const float, 3> lse,
             EmptyRow empty_rows, TensorView<float, 4> context,
             const Executor& executor) try {
  HEADWISE_TRY(check_weigh(attn_weights, value, mask, lse, context));
  if (Status s = check_overlap("weigh", {{"context", Footprint(context)}},
                               {{"attn_weights", Footprint(attn_weights)},
                                {"value", Footprint(value.heads)},
                                {"lse", Footprint(lse)}});
      !s || context.size() == 0) {
    return s;
  }
  const auto [B, Hq, Lq, Lkv] = attn_weights.extents();
  const std::size_t Dv = value.heads.extent(3);
  const HeadMap heads = value.map(Hq);
  for_each_row(executor, {B, Hq, Lq},
               [&, keys = Lkv](std::size_t b, std::size_t h, std::size_t i) {
                 const bool empty = lse(b, h, i) == kMinusInf;
                 const bool is_nan = empty && empty_rows == EmptyRow::nan;
                 for (std::size_t d = 0; d < Dv; ++d) {
                   context(b, i, h, d) = is_nan ? kNaN : 0;
                 }
                 if (is_nan || (empty && empty_rows == EmptyRow::zero)) {
                   return;
                 }
                 const std::size_t g = heads.kv_head(h);
                 for (std::size_t j = 0; j < keys; ++j) {
                   // An empty row averages every value, masked ones too.
                   if (!empty && !mask.may_attend(b, h, i, j)) {
                     continue;
                   }
                   const float weight = attn_weights(b, h, i, j);
                   for (std::size_t d = 0; d < Dv; ++d) {
                     context(b, i, h, d) += weight * value.heads(b, j, g, d);
                   }
                 }
                 for (std::size_t d = 0; d < Dv; ++d) {
                   float& sum = context(b, i, h, d);
                   sum = std::isnan(sum) ? kNaN : sum;
                 }
               });
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
