// The softmax of a row, each step rounded to a type.
#pragma once

#include <span>

#include "headwise/base/dtype.h"

namespace headwise::inline HEADWISE_ABI {

// In place. Rounds the elements, their distances from the largest, the
// exponentials, the sum and the quotients to `type`. NaN if an element is, or
// if all are -inf.
void softmax_in_steps(std::span<double> row, DType type);

}  // namespace headwise::inline HEADWISE_ABI
