// The picture that `explain --picture FILE` draws.
#pragma once

#include <string>

#include "explain_job.h"
#include "headwise/base/result.h"
#include "headwise/words/language.h"

namespace headwise::cli {

// Every head of one sequence. Errors: invalid_argument for a sequence that
// the batch does not have, out_of_range for an empty batch; those of
// heads_svg().
Result<std::string> explain_picture(const ExplainedJob& job,
                                    std::size_t sequence, Language language,
                                    double zoom = 1);

}  // namespace headwise::cli
