#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "headwise/train/sentence_classifier.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr double kNormal = 1.959963984540054;  // 95% lie within

// Student's t with 2.5% above it.
double student_t(std::size_t degrees) {
  constexpr std::array kTable = {
      12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
      2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
      2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  return degrees <= kTable.size() ? kTable[degrees - 1] : 1.96;
}

}  // namespace

ConfidenceInterval Answers::interval() const {
  const auto n = static_cast<double>(right.size());
  const double p = accuracy();
  const double z = kNormal * kNormal / n;
  const double centre = (p + z / 2) / (1 + z);
  const double half =
      kNormal * std::sqrt(p * (1 - p) / n + z / (4 * n)) / (1 + z);
  return {centre - half, centre + half};
}

AccuracyChange change_between(const Answers& before, const Answers& after) {
  double gained = 0;
  double lost = 0;
  for (std::size_t n = 0; n < before.right.size(); ++n) {
    gained += !before.right[n] && after.right[n] ? 1 : 0;
    lost += before.right[n] && !after.right[n] ? 1 : 0;
  }
  const auto n = static_cast<double>(before.right.size());
  const double change = (gained - lost) / n;
  const double half =
      kNormal * std::sqrt(std::max(0.0, gained + lost - n * change * change)) /
      n;
  return {change, change - half, change + half};
}

MeanWithInterval mean_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double x : values) {
    squares += (x - mean) * (x - mean);
  }
  if (values.size() < 2) {
    return {mean, mean, mean};
  }
  const double half =
      student_t(values.size() - 1) * std::sqrt(squares / (n - 1) / n);
  return {mean, mean - half, mean + half};
}

}  // namespace headwise::inline HEADWISE_ABI
