// The cross-entropy of one row of logits.
#pragma once

#include <cstddef>

#include "base/exponential.h"
#include "base/logarithm.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI {

// Of a row: its largest logit, and the sum of exp(logit - max).
struct RowSums {
  double max;
  double sum;
};

inline RowSums row_sums(TensorView<const float, 2> logits, std::size_t n) {
  const std::size_t C = logits.extent(1);
  double max = logits(n, 0);
  for (std::size_t c = 1; c < C; ++c) {
    const double logit = logits(n, c);
    max = logit > max ? logit : max;  // a NaN shows in the sum
  }
  double sum = 0;
  for (std::size_t c = 0; c < C; ++c) {
    sum += exponential(logits(n, c) - max);
  }
  return {max, sum};
}

// -ln softmax(logits[n])[target]
inline double row_loss(TensorView<const float, 2> logits, std::size_t n,
                       std::size_t target, const RowSums& of) {
  if (!(of.sum >= 1)) {  // NaN: a logarithm wants a number
    return of.sum;
  }
  return natural_log(of.sum) - (logits(n, target) - of.max);
}

}  // namespace headwise::inline HEADWISE_ABI
