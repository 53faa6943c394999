// The gates of `headwise view --ablate`.
#pragma once

#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/models/text_model.h"
#include "headwise/module/head_id.h"

namespace headwise::cli {

// By layer, (heads of the layer): 0 for these heads, 1 for the others. Errors:
// of --ablate, for a head that the model does not have; out_of_memory.
Result<std::vector<Tensor<float, 1>>> ablated_gates(
    const TextModel& model, const std::vector<HeadId>& heads);

}  // namespace headwise::cli
