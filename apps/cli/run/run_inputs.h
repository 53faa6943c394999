// The tensors of `headwise run` as their files hold them, and whether they fit
// together, in the axes of the files: the library would speak of its own.
#pragma once

#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/module/multi_head_attention.h"
#include "operation/tensor_file.h"
#include "run_flags.h"

namespace headwise::cli {

struct InputFiles {
  TensorFile query;
  TensorFile key;
  TensorFile value;
};

// An axis B of extent 1 stands first where the files have none.
struct InputArrays {
  Array query;
  Array key;
  Array value;
  bool batched = true;  // whether the files have an axis B
  // Given if each rank may read its own rows: the arrays then have no elements.
  std::optional<InputFiles> files{};
};

// Errors: those of the files, shape_mismatch for ranks.
Result<InputArrays> read_inputs(const RunFlags& flags);

// Reads all rows of the files. Errors: those of the files.
Result<InputArrays> with_elements(const InputArrays& headers);

// What the files of heads were read as, a line each.
std::string read_axes_of(const RunFlags& flags, const InputArrays& arrays);

// Errors: shape_mismatch.
Status check_inputs(const RunFlags& flags, const InputArrays& arrays);
Status check_layer_inputs(const RunFlags& flags, const InputArrays& arrays,
                          const MultiHeadAttentionConfig& config);

}  // namespace headwise::cli
