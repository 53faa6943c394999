// `headwise run --parallel`: the operation by several processes, each of which
// has some of the tokens or heads.
#pragma once

#include <functional>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/shard_plan.h"
#include "headwise/steps/rotate_heads.h"
#include "operands.h"
#include "run_call.h"
#include "run_flags.h"

namespace headwise::cli {

struct TogetherOptions {
  const RunFlags& flags;
  bool batched;  // whether the files have an axis B
  const AttentionOptions& options;
  const OperationOptions& operation_options;
  const AttentionSpec& spec;  // of the whole call
  KeyBand band;
  std::function<Status(const QueriesAndKeys& gradients)> rotate_back;
  const AttentionShape& tensors;
  const InputFiles* files;  // null: every rank has the whole tensors
};

// All ranks call it with the same tensors, in the layout of the files. With
// empty tensors each rank reads its rows of the files. Rank 0 gets the results,
// the others empty ones. Errors: those of plan_shards(), of the forward and
// backward pass by context or by heads, and of --d-output.
Result<RunResult> attend_together(Communicator& group, Operands<float, 4> in,
                                  const TogetherOptions& options);

}  // namespace headwise::cli
