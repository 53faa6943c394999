// Pruning can leave a model without heads: a question about them then has no
// answer.
#pragma once

#include "headwise/base/result.h"
#include "headwise/models/text_model.h"

namespace headwise::cli {

// Errors: bad_data, of --model.
Status check_has_heads(const TextModel& model);

}  // namespace headwise::cli
