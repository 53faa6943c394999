// M and sum of a row (docs/arithmetic.md) as the caller's tensors have them:
// (B, Hq, Lq, 2).
#pragma once

#include <cmath>
#include <cstddef>

#include "headwise/base/tensor_view.h"
#include "headwise/steps/softmax.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

struct SoftmaxRow {
  float max;  // in the log2 domain
  float sum;
};

inline void store_softmax_row(const SoftmaxRow& row,
                              const TensorView<float, 4>& rows, std::size_t b,
                              std::size_t h, std::size_t i) {
  // The maximum of a row of NaN may be any NaN, or a number.
  const bool is_nan = std::isnan(row.sum);
  rows(b, h, i, 0) = is_nan ? kNaN : row.max;
  rows(b, h, i, 1) = is_nan ? kNaN : row.sum;
}

inline SoftmaxRow load_softmax_row(const TensorView<float, 4>& rows,
                                   std::size_t b, std::size_t h,
                                   std::size_t i) {
  return {rows(b, h, i, 0), rows(b, h, i, 1)};
}

}  // namespace headwise::inline HEADWISE_ABI
