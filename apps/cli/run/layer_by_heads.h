// A layer by several processes, each of which has some of the heads.
#pragma once

#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/module/multi_head_attention.h"
#include "operands.h"
#include "parallel_layer.h"
#include "parallel_plan.h"
#include "run_call.h"

namespace headwise::cli {

// Errors: those of run_layer_together() and of LayerShard.
Result<RunResult> run_layer_by_heads(Communicator& group,
                                     MultiHeadAttention layer,
                                     Operands<float, 3> in,
                                     const LayerTogether& of,
                                     const Division& division);

}  // namespace headwise::cli
