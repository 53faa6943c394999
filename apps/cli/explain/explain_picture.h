// The picture that `explain --heads FILE.svg` draws.
#pragma once

#include <string>

#include "explain_job.h"
#include "headwise/base/result.h"
#include "headwise/inspect/language.h"

namespace headwise::cli {

// Every head of one sequence. Errors: out_of_range for a sequence that the
// batch does not have; those of heads_svg().
Result<std::string> explain_picture(const ExplainedJob& job,
                                    std::size_t sequence, Language language);

}  // namespace headwise::cli
