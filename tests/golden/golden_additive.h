// d2l's additive attention: a layer of one head without biases, value and
// output projection, and its gradients.
#pragma once

#include <vector>

#include "golden/golden_run.h"

namespace headwise::testing_support {

std::vector<Computed> compute_additive(const GoldenCase& golden);

}  // namespace headwise::testing_support
