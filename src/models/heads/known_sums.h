// An interval from sums that are known.
#pragma once

#include <cstddef>

#include "headwise/heads/mean_interval.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Of `count` numbers with the sum of the squares of their
// deviations from the mean.
MeanInterval mean_interval(std::size_t count, double mean, double squares);

}  // namespace headwise::inline HEADWISE_ABI
