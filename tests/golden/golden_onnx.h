// The node tests of ONNX's Attention: the output, and the scores at the stage
// that the test asks for.
#pragma once

#include <vector>

#include "golden/golden_run.h"

namespace headwise::testing_support {

std::vector<Computed> compute_onnx(const GoldenCase& golden);

}  // namespace headwise::testing_support
