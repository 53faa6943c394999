#include "headwise/steps/bias.h"

#include <cmath>

#include "base/check.h"
#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "headwise/steps/softmax.h"
#include "steps/rows.h"
#include "steps/step_checks.h"

namespace headwise::inline HEADWISE_ABI {

Result<BoundBias> BoundBias::bind(const Bias& bias,
                                  const CallContext& context) try {
  if (!bias.given()) {
    return BoundBias();
  }
  HEADWISE_TRY(bias.axes().check(context.shape, context.operation, "bias"));
  return BoundBias(bias);
} catch (...) {
  return caught_out_of_memory();
}

Extents<4> BoundBias::extents() const {
  Extents<4> extents = {1, 1, 1, 1};
  const NamedAxes& named = bias_.axes();
  for (std::size_t n = 0; n < named.axes().size(); ++n) {
    if (named.axes()[n] != Axis::one) {
      extents[static_cast<std::size_t>(named.axes()[n])] = named.extents()[n];
    }
  }
  return extents;
}

namespace {

// A bias along every axis as long as the scores, or broadcast.
Status check_bias(const BoundBias& bias, const Extents<4>& scores) {
  if (!bias.given()) {
    return value_error("add_bias", "bias", "not given", "a bias");
  }
  const Extents<4> extents = bias.extents();
  for (std::size_t axis = 0; axis < scores.size(); ++axis) {
    if (bias.strides()[axis] != 0 && extents[axis] != scores[axis]) {
      return shape_error("add_bias", "bias", extents,
                         "the scores' extents or 1", scores);
    }
  }
  return ok();
}

}  // namespace

Status add_bias(TensorView<const float, 4> scores, const BoundBias& bias,
                TensorView<float, 4> biased_scores,
                const Executor& executor) try {
  HEADWISE_TRY(check_like_scores("add_bias", "biased_scores",
                                 biased_scores.extents(), scores.extents()));
  HEADWISE_TRY(check_bias(bias, scores.extents()));
  HEADWISE_TRY(check_in_place("add_bias", "biased_scores", biased_scores,
                              {{"scores", scores}}));
  if (Status s = check_overlap(
          "add_bias", {{"biased_scores", Footprint(biased_scores)}},
          {{"bias", Footprint(TensorView<const float, 4>(
                        bias.data(), bias.extents(), bias.strides()))}});
      !s || scores.size() == 0) {
    return s;
  }
  const auto [B, Hq, Lq, Lkv] = scores.extents();
  for_each_row(executor, {B, Hq, Lq},
               [&, keys = Lkv](std::size_t b, std::size_t h, std::size_t i) {
                 for (std::size_t j = 0; j < keys; ++j) {
                   const float added = bias(b, h, i, j);
                   const float sum = scores(b, h, i, j) + added;
                   biased_scores(b, h, i, j) = added == kMinusInf ? kMinusInf
                                               : std::isnan(sum)  ? kNaN
                                                                  : sum;
                 }
               });
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
