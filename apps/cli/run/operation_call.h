// The operation by one process.
#pragma once

#include "headwise/base/result.h"
#include "ready_call.h"
#include "run_call.h"
#include "run_flags.h"

namespace headwise::cli {

// `in`: the tensors of the call. In the type of --dtype; the result is float32
// again. Errors: those of the library and of --d-output.
Result<RunResult> attend(const RunFlags& flags, Operands<float, 4> in,
                         const ReadyCall& ready, bool batched);

}  // namespace headwise::cli
