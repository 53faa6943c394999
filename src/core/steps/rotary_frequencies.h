// The angle per position of each pair of features, and the rules that scale it.
#pragma once

#include <vector>

#include "headwise/base/result.h"
#include "headwise/steps/rotary.h"

namespace headwise::inline HEADWISE_ABI {

struct RotaryFrequencies {
  std::vector<double> radians;  // (rotary_dim / 2), from 0 to 1
  double factor = 1;            // on sine and cosine
};

// Errors: those of Rotary::create().
Result<RotaryFrequencies> rotary_frequencies(const RotaryConfig& config);

}  // namespace headwise::inline HEADWISE_ABI
