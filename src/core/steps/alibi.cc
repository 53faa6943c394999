#include "headwise/steps/alibi.h"

#include <bit>
#include <cmath>
#include <string>

#include "base/check.h"
#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "headwise/steps/softmax.h"
#include "steps/rows.h"
#include "steps/step_checks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// 2^(-8/n) for n a power of two: only square roots and products, which are the
// same on every machine.
double first_slope(std::size_t n) {
  double slope = 0x1p-8;
  for (; n > 1; n /= 2) {
    slope = std::sqrt(slope);
  }
  return slope;
}

}  // namespace

Result<Tensor<float, 1>> alibi_slopes(std::size_t num_heads) try {
  HEADWISE_TRY(check_at_least_one("alibi_slopes", "num_heads", num_heads));
  auto slopes = Tensor<float, 1>::create({num_heads});
  if (!slopes) {
    return slopes;
  }
  const std::size_t below = std::bit_floor(num_heads);
  const double first = first_slope(below);
  double slope = 1;
  for (std::size_t h = 0; h < below; ++h) {
    slope *= first;
    (*slopes)(h) = static_cast<float>(slope);
  }
  // Of twice as many heads, the first, the third, ...
  slope = std::sqrt(first);
  for (std::size_t h = below; h < num_heads; ++h) {
    (*slopes)(h) = static_cast<float>(slope);
    slope *= first;
  }
  return slopes;
} catch (...) {
  return caught_out_of_memory();
}

Result<BoundAlibi> BoundAlibi::bind(TensorView<const float, 1> slopes,
                                    const CallContext& context) try {
  const AttentionShape& shape = context.shape;
  const std::string_view operation = context.operation;
  BoundAlibi alibi;
  if (slopes.data() == nullptr) {
    return alibi;
  }
  HEADWISE_TRY(
      check_shape(operation, "alibi", slopes.extents(), "(Hq)", {{shape.Hq}}));
  constexpr float kSteepest = 1e19F;
  for (std::size_t h = 0; h < shape.Hq; ++h) {
    if (!(std::abs(slopes(h)) <= kSteepest)) {
      return value_error(operation, "alibi[" + std::to_string(h) + "]",
                         number_text(static_cast<double>(slopes(h))),
                         "a number from -1e19 to 1e19");
    }
  }
  alibi.slopes_ = slopes;
  alibi.context_ = context;
  return alibi;
} catch (...) {
  return caught_out_of_memory();
}

Status add_alibi(TensorView<const float, 4> scores, const BoundAlibi& alibi,
                 TensorView<float, 4> alibi_scores,
                 const Executor& executor) try {
  HEADWISE_TRY(check_like_scores("add_alibi", "alibi_scores",
                                 alibi_scores.extents(), scores.extents()));
  if (!alibi.given()) {
    return value_error("add_alibi", "alibi", "not given", "a slope per head");
  }
  HEADWISE_TRY(check_bound_to_scores("add_alibi", "alibi", alibi.shape(),
                                     scores.extents()));
  HEADWISE_TRY(check_in_place("add_alibi", "alibi_scores", alibi_scores,
                              {{"scores", scores}}));
  if (Status s = check_overlap("add_alibi",
                               {{"alibi_scores", Footprint(alibi_scores)}},
                               {{"alibi", Footprint(alibi.slopes())}});
      !s || scores.size() == 0) {
    return s;
  }
  const auto [B, Hq, Lq, Lkv] = scores.extents();
  for_each_row(executor, {B, Hq, Lq},
               [&, keys = Lkv](std::size_t b, std::size_t h, std::size_t i) {
                 const float slope = alibi.slope(h);
                 for (std::size_t j = 0; j < keys; ++j) {
                   const auto distance =
                       static_cast<float>(std::abs(alibi.offset(b, i, j)));
                   const float sum = scores(b, h, i, j) - slope * distance;
                   alibi_scores(b, h, i, j) = std::isnan(sum) ? kNaN : sum;
                 }
               });
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
