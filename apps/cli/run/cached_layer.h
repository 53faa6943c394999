// A layer through a cache of keys and values, as --cache asks for.
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/module/multi_head_attention.h"
#include "operands.h"
#include "operation/operation_inputs.h"
#include "run_call.h"
#include "run_flags.h"

namespace headwise::cli {

// `in`: the tokens (B, L, E). `tensors`: the sizes of the heads. Errors: those
// of the layer and of CachedRun; out_of_range where queries and keys are not
// the same tokens.
Result<RunResult> layer_through_cache(const RunFlags& flags,
                                      const MultiHeadAttention& layer,
                                      const Operands<float, 3>& in,
                                      const OperationInputs& inputs,
                                      const AttentionOptions& options,
                                      const AttentionShape& tensors);

// The same by all ranks, which share the cache and get the output alone.
// Errors: those of context_layer_step(), too.
Result<RunResult> layer_through_cache_together(
    Communicator& group, const RunFlags& flags, const MultiHeadAttention& layer,
    const Operands<float, 3>& in, const OperationInputs& inputs,
    const AttentionOptions& options, const AttentionShape& tensors);

}  // namespace headwise::cli
