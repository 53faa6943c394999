// What `headwise inspect` prints.
#pragma once

#include <string>

#include "inspection.h"

namespace headwise::cli {

// `all_tensors`: each of them on a line of its own.
std::string inspect_text(const Inspection& inspection, bool all_tensors);

// One JSON object.
std::string inspect_json(const Inspection& inspection);

}  // namespace headwise::cli
