// Which file of parameters a path means.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// A file that ParamFile opens, as it is; of a folder the model.safetensors in
// it, else the model.safetensors.index.json, else the params.npz of `headwise
// train`, else the folder itself, if it has files NAME.npy. Errors begin with
// `operation: path` and say what was looked for, of PyTorch's files why they
// are not read.
Result<std::string> find_params(std::string_view operation,
                                const std::string& path);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop

// For the files of this component alone.
namespace headwise::internal::inline HEADWISE_ABI {

// Why a regular file whose name ends in none of the known ways is not read.
Status check_param_ending(std::string_view operation, const std::string& path);

}  // namespace headwise::internal::inline HEADWISE_ABI
