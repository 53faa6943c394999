#include "headwise/steps/scores.h"

#include <cmath>
#include <string_view>

#include "base/check.h"
#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "headwise/steps/softmax.h"
#include "steps/one_nan.h"
#include "steps/rows.h"
#include "steps/step_checks.h"

namespace headwise::inline HEADWISE_ABI {

double default_scale(std::size_t D) {
  return 1 / std::sqrt(static_cast<double>(D));
}

namespace {

// Each score is a sum of term(h, d, q, k) over the features of its query and
// key, times a factor.
template <class Term>
Status sums_of(std::string_view operation, TensorView<const float, 4> query,
               const GroupedHeads& key, float factor,
               TensorView<float, 4> scores, const Executor& executor,
               const Term& term) {
  const auto [B, Hq, Lq, Lkv] = scores.extents();
  const std::size_t D = query.extent(3);
  HEADWISE_TRY(check_shape(operation, "query", query.extents(),
                           "(B, Lq, Hq, D)", Extents<4>{B, Lq, Hq, D}));
  HEADWISE_TRY(check_grouped_heads(operation, "key", key, "(B, Lkv, Hkv, D)",
                                   {B, Lkv, key.heads.extent(2), D}, Hq));
  if (Status s = check_overlap(
          operation, {{"scores", Footprint(scores)}},
          {{"query", Footprint(query)}, {"key", Footprint(key.heads)}});
      !s || scores.size() == 0) {
    return s;
  }
  const HeadMap heads = key.map(Hq);
  for_each_row(executor, {B, Hq, Lq},
               [&, keys = Lkv](std::size_t b, std::size_t h, std::size_t i) {
                 const std::size_t g = heads.kv_head(h);
                 for (std::size_t j = 0; j < keys; ++j) {
                   float sum = 0;
                   for (std::size_t d = 0; d < D; ++d) {
                     sum +=
                         term(h, d, query(b, i, h, d), key.heads(b, j, g, d));
                   }
                   const float score = sum * factor;
                   scores(b, h, i, j) = one_nan(score);
                 }
               });
  return ok();
}

}  // namespace

Status scores(TensorView<const float, 4> query, const GroupedHeads& key,
              double scale, TensorView<float, 4> scores,
              const Executor& executor) try {
  return sums_of(
      "scores", query, key, static_cast<float>(scale), scores, executor,
      [](std::size_t, std::size_t, float q, float k) { return q * k; });
} catch (...) {
  return caught_out_of_memory();
}

Status additive_scores(TensorView<const float, 4> query,
                       const GroupedHeads& key,
                       TensorView<const float, 2> score_weight,
                       TensorView<float, 4> scores,
                       const Executor& executor) try {
  HEADWISE_TRY(check_shape("additive_scores", "score_weight",
                           score_weight.extents(), "(Hq, D)",
                           {{query.extent(2), query.extent(3)}}));
  HEADWISE_TRY(check_overlap("additive_scores", {{"scores", Footprint(scores)}},
                             {{"score_weight", Footprint(score_weight)}}));
  return sums_of("additive_scores", query, key, 1, scores, executor,
                 [&](std::size_t h, std::size_t d, float q, float k) {
                   return score_weight(h, d) * std::tanh(q + k);
                 });
} catch (...) {
  return caught_out_of_memory();
}

Status apply_softcap(TensorView<const float, 4> scores, double softcap,
                     TensorView<float, 4> capped_scores,
                     const Executor& executor) try {
  HEADWISE_TRY(check_like_scores("apply_softcap", "capped_scores",
                                 capped_scores.extents(), scores.extents()));
  if (Status s = check_in_place("apply_softcap", "capped_scores", capped_scores,
                                {{"scores", scores}});
      !s || scores.size() == 0) {
    return s;
  }
  const auto [B, Hq, Lq, Lkv] = scores.extents();
  const auto cap = static_cast<float>(softcap);
  for_each_row(executor, {B, Hq, Lq},
               [&, keys = Lkv](std::size_t b, std::size_t h, std::size_t i) {
                 for (std::size_t j = 0; j < keys; ++j) {
                   const float score = scores(b, h, i, j);
                   capped_scores(b, h, i, j) =
                       std::isnan(score) ? kNaN : cap * std::tanh(score / cap);
                 }
               });
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
