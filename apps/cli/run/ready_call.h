// A call of the operation before it is computed: its tensors checked, rotated
// and joined with those of earlier tokens.
#pragma once

#include <cstdint>
#include <optional>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/run/executor.h"
#include "headwise/steps/query_start.h"
#include "headwise/steps/rotate_heads.h"
#include "operands.h"
#include "operation/rotary_inputs.h"
#include "past_inputs.h"
#include "run_flags.h"
#include "run_inputs.h"

namespace headwise::cli {

// The rotation of the queries and keys of a call, where one is asked for.
struct Rotation {
  std::optional<Rotary> rotary;
  AttentionShape shape;  // of what is rotated: past keys were rotated before
  QueryStart query_start;
  HeadPositions positions;
  const Executor& executor;
  // The memory of `positions` if there are past keys.
  Tensor<std::int64_t, 2> key_positions{};

  Status rotate(const QueriesAndKeys& heads) const {
    return rotary ? rotate_heads(*rotary, heads, shape, query_start, positions,
                                 executor)
                  : ok();
  }
  Status rotate_back(const QueriesAndKeys& gradients) const {
    return rotary ? rotate_heads_back(*rotary, gradients, shape, query_start,
                                      positions, executor)
                  : ok();
  }
};

struct ReadyCall {
  Operands<float, 4> in;  // empty with `files`
  AttentionShape whole;   // of the tensors, past keys included
  AttentionSpec spec;     // checked, once
  Bias bias;              // with the axes that its file has
  Rotation rotation;
  std::optional<InputFiles> files;  // each rank reads its rows of them
};

// Frees the arrays, which are as large as the tensors. Errors: those of the
// library; shape_mismatch for files that do not fit.
Result<ReadyCall> make_ready(const RunFlags& flags, InputArrays arrays,
                             const PastInputs& past,
                             const AttentionOptions& options,
                             const OperationOptions& operation_options,
                             const RotaryInputs& rotary);

}  // namespace headwise::cli
