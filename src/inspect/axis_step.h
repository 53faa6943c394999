// Where the lines of an axis stand.
#pragma once

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// The distance of the lines of an axis of this length, above 0: 1, 2 or 5 times
// a power of ten, for at most five of them.
double axis_step(double length);

}  // namespace headwise::inline HEADWISE_ABI
