// Models whose heads cannot be asked about: pruning has left none, or their
// numbers overflow.
#pragma once

#include <string_view>

#include "headwise/base/result.h"
#include "headwise/models/text_model.h"
#include "headwise/module/head_hooks.h"

namespace headwise::cli {

// Errors: bad_data, of --model.
Status check_has_heads(const HeadsLeft& left);

// The error of a model, given with `option`, that computes attention weights
// that are NaN. bad_data.
Error computes_nan(std::string_view option, const HeadId& head);

}  // namespace headwise::cli
