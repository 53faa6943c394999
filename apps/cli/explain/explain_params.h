// The parameters of a layer as --step prints and writes them.
#pragma once

#include <vector>

#include "headwise/inspect/trace.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/embedding.h"

namespace headwise::cli {

// By the names that --params reads: "w_q.weight", ..., "embedding.weight".
// `embedding`: null for a layer of vectors. Those of a model that keeps none
// (Linear::for_inference()) are left out.
std::vector<TracedStep> explained_params(const MultiHeadAttention& layer,
                                         const Embedding* embedding);

}  // namespace headwise::cli
