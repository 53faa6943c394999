#include "inspect/page/view_error.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "headwise/base/half.h"
#include "inspect/page/score_terms.h"
#include "inspect/page/view_block.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The error of the attention weight and the log-sum-exp themselves: some
// roundings in float32, relative to a score and to the log-sum-exp.
constexpr double kRounding = 8 * 0x1p-24;

// Rows rounded to binary16.
class HalfRows {
 public:
  explicit HalfRows(TensorView<const float, 2> x)
      : features_(x.extent(1)), values_(each_of(x, [](float value) {
          return widened(narrowed_to_float16(value));
        })) {}

  std::span<const float> row(std::size_t n) const {
    return std::span(values_).subspan(n * features_, features_);
  }

 private:
  std::size_t features_;
  std::vector<float> values_;
};

struct Norms {
  double whole = 0;  // of a row
  double lost = 0;   // of its rounding error in binary16
};

Norms norms_of(TensorView<const float, 2> x, const HalfRows& halves,
               std::size_t row) {
  Norms sums;
  for (std::size_t d = 0; d < x.extent(1); ++d) {
    const double value = x(row, d);
    const double lost = value - static_cast<double>(halves.row(row)[d]);
    sums.whole += value * value;
    sums.lost += lost * lost;
  }
  return {std::sqrt(sums.whole), std::sqrt(sums.lost)};
}

struct Halves {
  HalfRows query;
  HalfRows key;
};

// The score as the page computes it.
double shown_score(const ViewedHead& head, const Halves& halves, std::size_t i,
                   std::size_t j) {
  const auto query = halves.query.row(i);
  const double dot = std::inner_product(
      query.begin(), query.end(), halves.key.row(j).begin(), 0.0, std::plus<>(),
      [](double a, double b) { return a * b; });
  return page_score(head.spec, head.h, dot,
                    static_cast<std::int64_t>(j) -
                        (static_cast<std::int64_t>(i) + head.query_start));
}

// The error of the keys in top_keys.
double error_of_top(const ViewedHead& head, const Halves& halves,
                    std::size_t i) {
  double error = 0;
  for (std::size_t n = 0; n < head.top_keys.extent(1); ++n) {
    const std::int64_t j = head.top_keys(i, n);
    if (j < 0) {
      break;
    }
    const double lse = head.lse(i);
    const double score =
        shown_score(head, halves, i, static_cast<std::size_t>(j));
    const double shown = std::exp(score - lse);
    const double weight = head.top_weights(i, n);
    error = std::max(
        error, std::abs(shown - weight) +
                   weight * kRounding * (1 + std::abs(score) + std::abs(lse)));
  }
  return error;
}

}  // namespace

double tile_error(const ViewedHead& head) {
  const Halves halves{HalfRows(head.query), HalfRows(head.key)};
  Norms keys;  // the largest of all
  for (std::size_t j = 0; j < head.key.extent(0); ++j) {
    const Norms norms = norms_of(head.key, halves.key, j);
    keys = {std::max(keys.whole, norms.whole), std::max(keys.lost, norms.lost)};
  }
  const std::size_t last = head.top_weights.extent(1) - 1;
  double error = 0;
  for (std::size_t i = 0; i < head.query.extent(0); ++i) {
    error = std::max(error, error_of_top(head, halves, i));
    const double rest = head.top_weights(i, last);
    if (rest > 0) {
      const Norms query = norms_of(head.query, halves.query, i);
      const double score =
          std::abs(head.spec.scale) * (query.lost * (keys.whole + keys.lost) +
                                       query.whole * keys.lost) +
          kRounding * (1 + std::abs(static_cast<double>(head.lse(i))));
      error = std::max(error, rest * std::expm1(score));
    }
  }
  return error;
}

double rounding_error(const ViewedHead& head) {
  float largest = 0;
  double lse = 0;
  for (std::size_t i = 0; i < head.attn_weights.extent(0); ++i) {
    for (std::size_t j = 0; j < head.attn_weights.extent(1); ++j) {
      const float off =
          std::abs(head.attn_weights(i, j) - head.rounded_weights(i, j));
      largest = off > largest ? off : largest;
    }
    if (std::isfinite(head.lse(i))) {
      lse = std::max(lse, std::abs(static_cast<double>(head.lse(i))));
    }
  }
  return static_cast<double>(largest) + kRounding * (2 + 2 * lse);
}

double lse_error(const ViewedHead& head) {
  double error = 0;
  for (std::size_t i = 0; i < head.lse.extent(0); ++i) {
    if (std::isfinite(head.lse(i))) {
      error =
          std::max(error, std::abs(static_cast<double>(head.lse(i)) -
                                   static_cast<double>(head.rounded_lse(i))));
    }
  }
  return error;
}

}  // namespace headwise::inline HEADWISE_ABI
