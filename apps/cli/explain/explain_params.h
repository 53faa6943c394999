// The parameters of a layer as --step prints and writes them.
#pragma once

#include <vector>

#include "headwise/inspect/trace.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/embedding.h"

namespace headwise::cli {

// By the names that --params reads. `embedding`: null for a layer of vectors.
std::vector<TracedStep> explained_params(MultiHeadAttention& layer,
                                         const Embedding* embedding);

}  // namespace headwise::cli
