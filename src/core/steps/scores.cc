#include "headwise/steps/scores.h"

#include <algorithm>
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

namespace {

Status check_scores(std::string_view operation,
                    TensorView<const float, 4> query, const GroupedHeads& key,
                    TensorView<float, 4> scores) {
  const auto [B, Hq, Lq, Lkv] = scores.extents();
  const std::size_t D = query.extent(3);
  HEADWISE_TRY(check_shape(operation, "query", query.extents(),
                           "(B, Lq, Hq, D)", Extents<4>{B, Lq, Hq, D}));
  HEADWISE_TRY(check_grouped_heads(operation, "key", key, "(B, Lkv, Hkv, D)",
                                   {B, Lkv, key.heads.extent(2), D}, Hq));
  return check_overlap(
      operation, {{"scores", Footprint(scores)}},
      {{"query", Footprint(query)}, {"key", Footprint(key.heads)}});
}

// Calls row(b, h, i, g) once for each row of scores; g is the key head.
template <class Row>
void for_each_score_row(const GroupedHeads& key, TensorView<float, 4> scores,
                        const Executor& executor, const Row& row) {
  const auto [B, Hq, Lq, Lkv] = scores.extents();
  const HeadMap heads = key.map(Hq);
  for_each_row(executor, {B, Hq, Lq},
               [&](std::size_t b, std::size_t h, std::size_t i) {
                 row(b, h, i, heads.kv_head(h));
               });
}

// (B, Hkv, D, Lkv): a row per feature, so that the scores of a query are sums
// of rows.
Result<Tensor<float, 4>> features_of(TensorView<const float, 4> key,
                                     const Executor& executor) {
  const auto [B, L, H, D] = key.extents();
  HEADWISE_ASSIGN(auto rows, Tensor<float, 4>::create_unset({B, H, D, L}));
  for_each_row(executor, {B, H, D},
               [&, L = L](std::size_t b, std::size_t h, std::size_t d) {
                 for (std::size_t j = 0; j < L; ++j) {
                   rows(b, h, d, j) = key(b, j, h, d);
                 }
               });
  return rows;
}

}  // namespace

Status scores(TensorView<const float, 4> query, const GroupedHeads& key,
              double scale, TensorView<float, 4> scores,
              const Executor& executor) try {
  HEADWISE_TRY(check_scores("scores", query, key, scores));
  if (scores.size() == 0) {
    return ok();
  }
  HEADWISE_ASSIGN(const auto features, features_of(key.heads, executor));
  const auto factor = static_cast<float>(scale);
  const std::size_t D = query.extent(3);
  const std::size_t keys = scores.extent(3);
  const auto step = scores.stride(3);
  for_each_score_row(
      key, scores, executor,
      [&](std::size_t b, std::size_t h, std::size_t i, std::size_t g) {
        // Some keys at a time, whose sums stay in registers.
        constexpr std::size_t kKeys = 32;
        float* const to = &scores(b, h, i, 0);
        for (std::size_t first = 0; first < keys; first += kKeys) {
          const std::size_t count = std::min(kKeys, keys - first);
          float sums[kKeys] = {};
          for (std::size_t d = 0; d < D; ++d) {
            add_row(sums, query(b, i, h, d), &features(b, g, d, first), count);
          }
          for (std::size_t n = 0; n < count; ++n) {
            const float score = sums[n] * factor;
            to[static_cast<std::ptrdiff_t>(first + n) * step] = one_nan(score);
          }
        }
      });
  return ok();
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
  HEADWISE_TRY(check_scores("additive_scores", query, key, scores));
  if (scores.size() == 0) {
    return ok();
  }
  for_each_score_row(
      key, scores, executor,
      [&](std::size_t b, std::size_t h, std::size_t i, std::size_t g) {
        for (std::size_t j = 0; j < scores.extent(3); ++j) {
          float sum = 0;
          for (std::size_t d = 0; d < query.extent(3); ++d) {
            sum += score_weight(h, d) *
                   std::tanh(query(b, i, h, d) + key.heads(b, j, g, d));
          }
          scores(b, h, i, j) = one_nan(sum);
        }
      });
  return ok();
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
