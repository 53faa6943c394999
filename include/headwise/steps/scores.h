// Step 6: how well each query fits each key:
//
//   scores[b,h,i,j] = scale * sum_d query[b,i,h,d] * key[b,j,g,d],
//   g = h / (Hq / Hkv), or as kv_groups says (steps/head_groups.h)
//
//   query   (B, Lq, Hq, D)     in
//   key     (B, Lkv, Hkv, D)   in
//   scores  (B, Hq, Lq, Lkv)   out
//
// or, with additive scoring, through one hidden layer of size D:
//
//   scores[b,h,i,j] = sum_d score_weight[h,d] *
//                           tanh(query[b,i,h,d] + key[b,j,g,d])
//
//   score_weight  (Hq, D)      in
//
// Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1; grouped heads:
// Ainslie et al. 2023, arXiv:2305.13245; additive: Bahdanau, Cho & Bengio 2015,
// arXiv:1409.0473, section A.1.2.
#pragma once

#include <cmath>
#include <cstddef>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/steps/head_groups.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// 1 / sqrt(D).
inline double default_scale(std::size_t D) {
  return 1 / std::sqrt(static_cast<double>(D));
}

// Errors: shape_mismatch; those of HeadGroups::check; invalid_argument if the
// number of query heads is not a multiple of the number of key heads, and for
// an output that overlaps an input; out_of_memory.
Status scores(TensorView<const float, 4> query, const GroupedHeads& key,
              double scale, TensorView<float, 4> scores,
              const Executor& executor);
Status additive_scores(TensorView<const float, 4> query,
                       const GroupedHeads& key,
                       TensorView<const float, 2> score_weight,
                       TensorView<float, 4> scores, const Executor& executor);

// Step 6a, after the scale and before any bias: scores that stay between
// -softcap and softcap:
//
//   capped_scores[b,h,i,j] = softcap * tanh(scores[b,h,i,j] / softcap)
//
// softcap > 0; the output may be the scores themselves. Errors: shape_mismatch;
// invalid_argument for an output that overlaps the scores without being the
// same tensor; out_of_memory.
// Source: Gemma Team 2024, arXiv:2408.00118, section 2.
Status apply_softcap(TensorView<const float, 4> scores, double softcap,
                     TensorView<float, 4> capped_scores,
                     const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
