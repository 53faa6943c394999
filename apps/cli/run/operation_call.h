// The operation by one process.
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "ready_call.h"
#include "run_call.h"
#include "run_flags.h"

namespace headwise::cli {

// `spec`: of the call. In the type of --dtype; the result is float32 again.
// Errors: those of the library and of --d-output.
Result<RunResult> attend(const RunFlags& flags, Operands<float, 4> in,
                         bool batched, const AttentionOptions& options,
                         const OperationOptions& operation_options,
                         const AttentionSpec& spec, const Rotation& rotation);

}  // namespace headwise::cli
