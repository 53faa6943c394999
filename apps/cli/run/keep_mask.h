// --keep-mask-out: which attention weights a dropout kept.
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "run_call.h"
#include "run_flags.h"

namespace headwise::cli {

// The result, with the keep mask where it is asked for; of several processes
// only rank 0 gets it. `group`: null for a process that works alone. Errors:
// those of `result`, then of `spec`; out_of_memory.
Result<RunResult> with_keep_mask(Communicator* group, const RunFlags& flags,
                                 Result<RunResult> result,
                                 const Result<AttentionSpec>& spec);

}  // namespace headwise::cli
