// The softmax of a row, each step rounded to a type, and its logarithm.
#pragma once

#include <span>

#include "headwise/base/dtype.h"

namespace headwise::inline HEADWISE_ABI {

// In place. Rounds the elements, their distances from the largest, the
// exponentials, the sum and the quotients to `type`. NaN if an element is, or
// if all are -inf.
void softmax_in_steps(std::span<double> row, DType type);

// In place, in double: the logarithms of the weights, finite where a weight is
// too small for any type.
void log_softmax(std::span<double> row);

}  // namespace headwise::inline HEADWISE_ABI
