// A layer by several processes, each of which has some of the tokens.
#pragma once

#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/module/multi_head_attention.h"
#include "parallel_layer.h"
#include "parallel_plan.h"
#include "run_call.h"
#include "run_inputs.h"

namespace headwise::cli {

// Errors: those of run_layer_together() and of context_layer().
Result<RunResult> run_layer_by_context(Communicator& group,
                                       const MultiHeadAttention& layer,
                                       const InputFiles& files,
                                       const LayerTogether& of,
                                       const Division& division);

}  // namespace headwise::cli
