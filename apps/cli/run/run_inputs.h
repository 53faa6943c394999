// The tensors of `headwise run` as their files hold them, and whether they fit
// together, in the axes of the files: the library would speak of its own.
#pragma once

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/module/multi_head_attention.h"
#include "run_flags.h"

namespace headwise::cli {

// An axis B of extent 1 stands first where the files have none.
struct InputArrays {
  Array query;
  Array key;
  Array value;
  bool batched = true;  // whether the files have an axis B
};

// Errors: those of the files, shape_mismatch for ranks.
Result<InputArrays> read_inputs(const RunFlags& flags);

// Errors: shape_mismatch.
Status check_inputs(const RunFlags& flags, const InputArrays& arrays);
Status check_layer_inputs(const RunFlags& flags, const InputArrays& arrays,
                          const MultiHeadAttentionConfig& config);

}  // namespace headwise::cli
