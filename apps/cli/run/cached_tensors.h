// The tensors of a call that goes through a cache.
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "operands.h"
#include "run_call.h"
#include "run_flags.h"

namespace headwise::cli {

// (B, L, H, D), of tensors that must outlive it.
struct CachedTensors {
  TensorView<const float, 4> query;
  TensorView<const float, 4> key;
  TensorView<const float, 4> value;

  CachedTensors(const Operands<float, 4>& in, bool heads_first)
      : query(as_extents(in.query.view(), heads_first)),
        key(as_extents(in.key.view(), heads_first)),
        value(as_extents(in.value.view(), heads_first)) {}
};

// Zeros. Errors: out_of_memory.
Result<RunResult> empty_result(const RunFlags& flags,
                               const Operands<float, 4>& in,
                               const AttentionOptions& options,
                               const AttentionShape& shape);

}  // namespace headwise::cli
