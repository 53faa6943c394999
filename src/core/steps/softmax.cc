#include "headwise/steps/softmax.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "steps/rows.h"
#include "steps/step_checks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

float empty_weight(EmptyRow empty_rows, std::size_t keys) {
  switch (empty_rows) {
    case EmptyRow::zero:
      return 0;
    case EmptyRow::uniform:
      return 1 / static_cast<float>(keys);
    case EmptyRow::nan:
      return kNaN;
  }
  return 0;
}

Status check_softmax(const TensorView<const float, 4>& masked_scores,
                     const BoundSinks& sinks,
                     const TensorView<float, 4>& attn_weights,
                     const TensorView<float, 3>& lse) {
  const auto [B, Hq, Lq, Lkv] = masked_scores.extents();
  HEADWISE_TRY(check_like_scores("softmax", "attn_weights",
                                 attn_weights.extents(),
                                 masked_scores.extents()));
  HEADWISE_TRY(check_shape("softmax", "lse", lse.extents(), "(B, Hq, Lq)",
                           {{B, Hq, Lq}}));
  if (sinks.given()) {
    HEADWISE_TRY(check_shape("softmax", "sinks", sinks.view().extents(), "(Hq)",
                             {{Hq}}));
  }
  return check_overlap(
      "softmax",
      {{"attn_weights", Footprint(attn_weights)}, {"lse", Footprint(lse)}},
      {{"masked_scores", Footprint(masked_scores)},
       {"sinks", Footprint(sinks.view())}});
}

}  // namespace

Status softmax(TensorView<const float, 4> masked_scores, EmptyRow empty_rows,
               TensorView<float, 4> attn_weights, TensorView<float, 3> lse,
               const Executor& executor) {
  return softmax(masked_scores, BoundSinks(), empty_rows, attn_weights, lse,
                 executor);
}

Status softmax(TensorView<const float, 4> masked_scores,
               const BoundSinks& sinks, EmptyRow empty_rows,
               TensorView<float, 4> attn_weights, TensorView<float, 3> lse,
               const Executor& executor) try {
  HEADWISE_TRY(check_softmax(masked_scores, sinks, attn_weights, lse));
  const auto [B, Hq, Lq, Lkv] = masked_scores.extents();
  for_each_row(executor, {B, Hq, Lq},
               [&, keys = Lkv](std::size_t b, std::size_t h, std::size_t i) {
                 const float sink = sinks.of(h);
                 float max = sink;
                 for (std::size_t j = 0; j < keys; ++j) {
                   max = std::max(max, masked_scores(b, h, i, j));
                 }
                 float sum = 0;
                 for (std::size_t j = 0; j < keys; ++j) {
                   const float s = masked_scores(b, h, i, j);
                   // By select: (-inf) - (-inf) would be NaN.
                   const float p = s == kMinusInf ? 0 : std::exp(s - max);
                   attn_weights(b, h, i, j) = p;
                   sum += p;
                 }
                 sum += sink == kMinusInf ? 0 : std::exp(sink - max);
                 const bool empty = sum == 0;
                 lse(b, h, i) = empty             ? kMinusInf
                                : std::isnan(sum) ? kNaN
                                                  : max + std::log(sum);
                 for (std::size_t j = 0; j < keys; ++j) {
                   float& weight = attn_weights(b, h, i, j);
                   if (empty) {
                     weight = empty_weight(empty_rows, keys);
                   } else if (masked_scores(b, h, i, j) != kMinusInf) {
                     weight = std::isnan(sum) ? kNaN : weight / sum;
                   }
                 }
               });
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
