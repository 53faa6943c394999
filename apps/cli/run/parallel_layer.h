// `headwise run --params --parallel`: a layer by several processes, each of
// which has some of the heads or tokens.
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/shard_plan.h"
#include "headwise/module/multi_head_attention.h"
#include "run_call.h"
#include "run_flags.h"
#include "run_inputs.h"

namespace headwise::cli {

struct LayerTogether {
  const RunFlags& flags;
  bool batched;  // whether the files have an axis B
  const AttentionOptions& options;
  const LayerOptions& layer_options;
  const AttentionSpec& spec;  // of the heads of the whole call
  KeyBand band;

  bool training() const { return !flags.d_output.empty(); }
};

// All ranks call it with the same layer and files. Rank 0 gets the results,
// the others empty ones or parts. Errors: those of LayerShard and of
// context_layer(); those of --d-output.
Result<RunResult> run_layer_together(Communicator& group,
                                     MultiHeadAttention layer,
                                     const InputArrays& arrays,
                                     const LayerTogether& of);

}  // namespace headwise::cli
