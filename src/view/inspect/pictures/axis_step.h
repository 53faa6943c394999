// Round distances between the grid lines of an axis.
#pragma once

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// 1, 2 or 5 times a power of ten, so that an axis of this length (above 0) has
// at most five lines after its first.
double axis_step(double length);

}  // namespace headwise::inline HEADWISE_ABI
