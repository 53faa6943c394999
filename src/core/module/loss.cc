#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/exponential.h"
#include "base/out_of_memory.h"
#include "headwise/module/optimizer.h"
#include "headwise/steps/softmax.h"
#include "module/row_loss.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

float rounded(double x) { return std::isnan(x) ? kNaN : static_cast<float>(x); }

double loss_of(double sum, std::size_t count) {
  const double mean = sum / static_cast<double>(count);
  return std::isnan(mean) ? std::numeric_limits<double>::quiet_NaN() : mean;
}

// How many rows count.
Result<std::size_t> count_targets(TensorView<const float, 2> logits,
                                  TensorView<const std::int64_t, 1> targets) {
  constexpr std::string_view kOperation = "cross_entropy";
  const auto [N, C] = logits.extents();
  HEADWISE_TRY(
      check_shape(kOperation, "targets", targets.extents(), "(N)", {{N}}));
  std::size_t count = 0;
  for (std::size_t n = 0; n < N; ++n) {
    const std::int64_t target = targets(n);
    if (target == kIgnoredTarget) {
      continue;
    }
    if (target < 0 || static_cast<std::uint64_t>(target) >= C) {
      return value_error(
          kOperation, "targets[" + std::to_string(n) + "]",
          std::to_string(target),
          message("a class below C = {}, or {}", C, kIgnoredTarget),
          ErrorCode::out_of_range);
    }
    ++count;
  }
  if (count == 0) {
    return value_error(kOperation, "targets",
                       N == 0 ? "empty" : "ignored in every row",
                       "at least one class");
  }
  return count;
}

// The loss of one row; `gradient` (C) is that of the mean over `count` rows.
double differentiated(TensorView<const float, 2> logits, std::size_t n,
                      std::size_t target, std::size_t count, float* gradient) {
  const RowSums of = row_sums(logits, n);
  const auto rows = static_cast<double>(count);
  for (std::size_t c = 0; c < logits.extent(1); ++c) {
    const double p = exponential(logits(n, c) - of.max) / of.sum;
    gradient[c] = rounded((c == target ? p - 1 : p) / rows);
  }
  return row_loss(logits, n, target, of);
}

// Calls `visit(offset in a, offset in b)` for each element, in C order.
template <class Visit>
void for_each_element(std::span<const std::size_t> extents,
                      std::span<const std::ptrdiff_t> a,
                      std::span<const std::ptrdiff_t> b, std::size_t count,
                      const Visit& visit) {
  Extents<TensorArg::kMostAxes> index{};
  std::ptrdiff_t in_a = 0;
  std::ptrdiff_t in_b = 0;
  for (std::size_t n = 0; n < count; ++n) {
    visit(in_a, in_b);
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      in_a += a[axis];
      in_b += b[axis];
      if (++index[axis] < extents[axis]) {
        break;
      }
      const auto back = static_cast<std::ptrdiff_t>(extents[axis]);
      in_a -= back * a[axis];
      in_b -= back * b[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

Result<CrossEntropy> cross_entropy(
    TensorView<const float, 2> logits,
    TensorView<const std::int64_t, 1> targets) try {
  const auto [N, C] = logits.extents();
  HEADWISE_ASSIGN(const auto count, count_targets(logits, targets));
  HEADWISE_ASSIGN(auto d_logits, Tensor<float, 2>::create({N, C}));
  const FloatEnvironment environment;
  double sum = 0;
  for (std::size_t n = 0; n < N; ++n) {
    if (targets(n) != kIgnoredTarget) {
      sum += differentiated(logits, n, static_cast<std::size_t>(targets(n)),
                            count, &d_logits(n, 0));
    }
  }
  return CrossEntropy{loss_of(sum, count), std::move(d_logits)};
} catch (...) {
  return caught_out_of_memory();
}

Result<double> detail::squared_error(const TensorArg& prediction,
                                     const TensorArg& target,
                                     std::span<float> d_prediction) try {
  constexpr std::string_view kOperation = "mean_squared_error";
  HEADWISE_TRY(check_shape(kOperation, "target", target.extents(),
                           "that of prediction", prediction.extents()));
  const std::size_t count = d_prediction.size();
  if (count == 0) {
    return value_error(kOperation, "prediction", "empty",
                       "at least one element");
  }
  const FloatEnvironment environment;
  const auto* const predicted = static_cast<const float*>(prediction.data());
  const auto* const wanted = static_cast<const float*>(target.data());
  double sum = 0;
  float* gradient = d_prediction.data();
  for_each_element(
      prediction.extents(), prediction.strides(), target.strides(), count,
      [&](std::ptrdiff_t p, std::ptrdiff_t t) {
        const double difference = static_cast<double>(predicted[p]) - wanted[t];
        sum += difference * difference;
        *gradient++ = rounded(2 * difference / static_cast<double>(count));
      });
  return loss_of(sum, count);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
