// The node tests of ONNX's Attention, on tensors of each type and through a
// cache: the output, the scores at the stage that the test asks for, and the
// present keys and values.
#pragma once

#include <vector>

#include "golden/golden_run.h"

namespace headwise::testing_support {

std::vector<Computed> compute_onnx(const GoldenCase& golden);

}  // namespace headwise::testing_support
