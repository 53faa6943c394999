// `headwise run --params --parallel heads`: a layer by several processes, each
// of which has some of the heads.
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/module/multi_head_attention.h"
#include "operands.h"
#include "run_call.h"
#include "run_flags.h"

namespace headwise::cli {

struct LayerTogether {
  const RunFlags& flags;
  bool batched;  // whether the files have an axis B
  const AttentionOptions& options;
  const LayerOptions& layer_options;
};

// All ranks call it with the same layer and inputs. Rank 0 gets the results,
// the others no gradients. Errors: those of LayerShard; those of --d-output.
Result<RunResult> run_layer_together(Communicator& group,
                                     MultiHeadAttention layer,
                                     Operands<float, 3> in,
                                     const LayerTogether& of);

}  // namespace headwise::cli
