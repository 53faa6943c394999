// --keep-mask-out: which attention weights a dropout kept.
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "run_call.h"
#include "run_flags.h"

namespace headwise::cli {

// The result, with the keep mask where it is asked for. Errors: those of
// `result` and of the options.
Result<RunResult> with_keep_mask(const RunFlags& flags,
                                 Result<RunResult> result,
                                 const Result<AttentionShape>& tensors,
                                 const AttentionOptions& options,
                                 const OperationOptions& operation_options);

}  // namespace headwise::cli
