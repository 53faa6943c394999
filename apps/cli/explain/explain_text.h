// What `explain` prints for people.
#pragma once

#include <string>

#include "explain_job.h"
#include "headwise/words/language.h"

namespace headwise::cli {

// All steps; without numbers when only shapes are known.
std::string explain_text(const ExplainedJob& job, Language language);
// One step's head lines and its whole tensor.
std::string step_text(const ExplainedJob& job, const TracedStep& step,
                      Language language);

}  // namespace headwise::cli
