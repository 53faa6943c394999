// What `headwise inspect` prints.
#pragma once

#include <string>

#include "headwise/interop/param_inspection.h"

namespace headwise::cli {

// `all_tensors`: each of them on a line of its own.
std::string inspect_text(const ParamInspection& inspection, bool all_tensors);

// One JSON object.
std::string inspect_json(const ParamInspection& inspection);

}  // namespace headwise::cli
