// The operation through a cache of keys and values, as --cache asks for.
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "operands.h"
#include "operation/operation_inputs.h"
#include "run_call.h"
#include "run_flags.h"

namespace headwise::cli {

// The keys before those of the queries are appended first; then each chunk of
// --chunk queries appends its keys and attends. Errors: those of the library;
// out_of_range for queries that are not the last tokens of their sequence;
// usage for a chunk whose queries look ahead. `shape`: that of the call's spec.
Result<RunResult> attend_through_cache(
    const RunFlags& flags, const Operands<float, 4>& in,
    const OperationInputs& inputs, const AttentionOptions& options,
    const OperationOptions& operation_options, const AttentionShape& shape);

}  // namespace headwise::cli
