// What `explain --json` prints, for programs (docs/explain-json.md).
#pragma once

#include <string>

#include "explain_job.h"
#include "headwise/words/language.h"

namespace headwise::cli {

// `values_of`: the step whose whole tensor is given, or null.
std::string explain_json(const ExplainedJob& job, const TracedStep* values_of,
                         Language language);

}  // namespace headwise::cli
