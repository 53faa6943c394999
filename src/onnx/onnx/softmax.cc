#include "onnx/softmax.h"

#include <cmath>
#include <limits>

#include "onnx/extremes.h"
#include "onnx/numbers.h"

namespace headwise::inline HEADWISE_ABI {

namespace {

// NaN if one is.
double largest_score(std::span<const double> row) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const double score : row) {
    largest = extreme_of(largest, score, /*largest=*/true);
  }
  return largest;
}

}  // namespace

void log_softmax(std::span<double> row) {
  const double largest = largest_score(row);
  double sum = 0;
  for (const double score : row) {
    sum += std::exp(score - largest);
  }
  for (double& score : row) {
    score = score - largest - std::log(sum);
  }
}

void softmax_in_steps(std::span<double> row, DType type) {
  round_all(row, type);
  const double largest = largest_score(row);
  double sum = 0;
  for (double& score : row) {
    score = rounded(std::exp(rounded(score - largest, type)), type);
    // ml_dtypes, the arithmetic of the standard's reference, adds bfloat16 one
    // by one; NumPy adds float16 in float32.
    sum = type == DType::bfloat16 ? rounded(sum + score, type) : sum + score;
  }
  sum = rounded(sum, type);
  for (double& score : row) {
    score = rounded(score / sum, type);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
