#include "headwise/heads/mean_interval.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "heads/known_sums.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr double kProbability = 0.95;
constexpr double kNoMean = std::numeric_limits<double>::quiet_NaN();
// From here on the expansion around the normal distribution is as exact as the
// sum, which has a term for every two degrees of freedom.
constexpr std::size_t kManyDegrees = 200;

// The probability that |T| < t; Abramowitz & Stegun 1964, 26.7.3 and 26.7.4.
double within(double t, std::size_t degrees) {
  const auto n = static_cast<double>(degrees);
  const double cosine = 1 / std::sqrt(1 + t * t / n);
  const double sine = std::sqrt(1 - cosine * cosine);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1;
  double sum = degrees > 1 ? term : 0;
  for (std::size_t k = odd ? 3 : 2; k + 2 <= degrees; k += 2) {
    const auto number = static_cast<double>(k);
    term *= cosine * cosine * (number - 1) / number;
    sum += term;
  }
  return odd ? 2 / std::numbers::pi * (std::atan(t / std::sqrt(n)) + sine * sum)
             : sine * sum;
}

// Abramowitz & Stegun 1964, 26.7.5.
double quantile_of_many(std::size_t degrees) {
  constexpr double x = 1.959963984540054;  // of the normal distribution
  const auto n = static_cast<double>(degrees);
  const double x2 = x * x;
  return x + x * (x2 + 1) / (4 * n) +
         x * ((5 * x2 + 16) * x2 + 3) / (96 * n * n) +
         x * (((3 * x2 + 19) * x2 + 17) * x2 - 15) / (384 * n * n * n);
}

double quantile(std::size_t degrees) {
  if (degrees > kManyDegrees) {
    return quantile_of_many(degrees);
  }
  double low = 1;
  double high = 13;  // 12.7 with one degree of freedom
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2;
    (within(middle, degrees) < kProbability ? low : high) = middle;
  }
  return high;
}

}  // namespace

MeanInterval mean_interval(std::span<const double> values) {
  std::size_t count = 0;
  double sum = 0;
  for (const double value : values) {
    if (!std::isnan(value)) {
      ++count;
      sum += value;
    }
  }
  const auto n = static_cast<double>(count);
  const double mean = sum / n;
  double squares = 0;
  for (const double value : values) {
    if (!std::isnan(value)) {
      squares += (value - mean) * (value - mean);
    }
  }
  return mean_interval(count, mean, squares);
}

MeanInterval mean_interval(std::size_t count, double mean, double squares) {
  if (count < 2) {
    return {count, count == 0 ? kNoMean : mean, kNoMean, kNoMean};
  }
  const auto n = static_cast<double>(count);
  const double half = quantile(count - 1) * std::sqrt(squares / ((n - 1) * n));
  return {count, mean, mean - half, mean + half};
}

}  // namespace headwise::inline HEADWISE_ABI
