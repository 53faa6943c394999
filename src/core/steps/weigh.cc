#include "headwise/steps/weigh.h"

#include <algorithm>
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
  const bool all = mask.allows_all();
  const bool in_rows = value.heads.stride(3) == 1;
  for_each_row(executor, {B, Hq, Lq},
               [&, Lkv = Lkv](std::size_t b, std::size_t h, std::size_t i) {
                 const bool empty = lse(b, h, i) == kMinusInf;
                 const bool is_nan = empty && empty_rows == EmptyRow::nan;
                 const bool is_zero = empty && empty_rows == EmptyRow::zero;
                 const std::size_t keys = is_nan || is_zero ? 0 : Lkv;
                 const std::size_t g = heads.kv_head(h);
                 // Some features at a time, whose sums stay in registers.
                 constexpr std::size_t kFeatures = 32;
                 for (std::size_t first = 0; first < Dv; first += kFeatures) {
                   const std::size_t count = std::min(kFeatures, Dv - first);
                   float sums[kFeatures] = {};
                   for (std::size_t j = 0; j < keys; ++j) {
                     // An empty row averages every value, masked ones too.
                     if (!empty && !all && !mask.may_attend(b, h, i, j)) {
                       continue;
                     }
                     const float weight = attn_weights(b, h, i, j);
                     const float* const row = &value.heads(b, j, g, first);
                     if (in_rows) {
                       add_row(sums, weight, row, count);
                       continue;
                     }
                     for (std::size_t n = 0; n < count; ++n) {
                       sums[n] += weight * value.heads(b, j, g, first + n);
                     }
                   }
                   for (std::size_t n = 0; n < count; ++n) {
                     context(b, i, h, first + n) =
                         is_nan || std::isnan(sums[n]) ? kNaN : sums[n];
                   }
                 }
               });
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
