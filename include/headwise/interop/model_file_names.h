// Which files of a folder reading a model, or parameters, may use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Whether reading a model, or parameters, from a folder may use a file of this
// name: one that ends in .json, .txt, .safetensors, .weight.npy or .bias.npy.
bool may_be_model_file(std::string_view name);

// The paths of those files, in the folder and in its direct subfolders. None if
// the folder cannot be read; the reader then reports the error.
std::vector<std::string> model_files_in(const std::string& folder);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
