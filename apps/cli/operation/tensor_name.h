// Which tensor of a .safetensors file an option means.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/safetensors.h"

namespace headwise::cli {

// The only tensor of the file, or the one with the option's name: d_output for
// --d-output.
// Errors: bad_data for a file without such a tensor.
Result<std::string> name_of_tensor(const SafetensorsFile& file,
                                   std::string_view option,
                                   const std::string& path);

}  // namespace headwise::cli
