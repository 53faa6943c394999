// Projections whose bits in bfloat16 are easy to get wrong.
#pragma once

#include <cstddef>
#include <limits>

#include "headwise/base/tensor.h"
#include "headwise/steps/projection.h"
#include "headwise/steps/softmax.h"
#include "support/tensors.h"

namespace headwise::testing_support {

// Calls check(linear, x, range) with products and sums that are denormal, and
// with factors that round to infinity.
template <class Check>
void for_numbers_of_every_size(std::size_t rows, const Check& check) {
  for (const double range : {1e-38, 1e-20, 1e-18, 1.0, 1e19, 3.4e38}) {
    for (const bool bias : {false, true}) {
      const Linear linear =
          Linear::from_params(uniform<2>({20, 301}, 19, -range, range),
                              bias ? uniform<1>({20}, 20) : Tensor<float, 1>())
              .value();
      check(linear, uniform<3>({1, rows, 301}, 12, -range, range), range);
    }
  }
}

// (1, rows, 141): NaNs, infinities and what becomes one in the rows from 1 to
// 7, of at least 8.
inline Tensor<float, 3> with_nans_and_infinities(std::size_t rows) {
  auto x = uniform<3>({1, rows, 141}, 13);
  x(0, 1, 3) = kNaN;
  x(0, 2, 140) = kNaN;
  x(0, 3, 139) = -kMinusInf;
  x(0, 5, 0) = kMinusInf;
  x(0, 5, 130) = -kMinusInf;
  x(0, 6, 7) = std::numeric_limits<float>::max();  // infinity, rounded
  x(0, 7, 8) = std::numeric_limits<float>::denorm_min();
  return x;
}

}  // namespace headwise::testing_support
