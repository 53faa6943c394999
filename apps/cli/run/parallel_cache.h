// `headwise run --cache paged --parallel`: the operation through a cache that
// several processes share.
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "operands.h"
#include "operation/operation_inputs.h"
#include "run_call.h"
#include "run_flags.h"

namespace headwise::cli {

// As attend_through_cache(), called by all ranks with the same tensors; gives
// only the output. Errors: those of ContextCache and of CachedRun.
Result<RunResult> attend_through_cache_together(
    Communicator& group, const RunFlags& flags, const Operands<float, 4>& in,
    const OperationInputs& inputs, const AttentionOptions& options,
    const OperationOptions& operation_options, const AttentionShape& shape);

}  // namespace headwise::cli
