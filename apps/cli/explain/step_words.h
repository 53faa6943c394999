// A step's operation and formula as they are in one job: without a bias that is
// not there, over the masked scores where there is a mask.
#pragma once

#include <string>

#include "explain_job.h"
#include "headwise/inspect/trace.h"

namespace headwise::cli {

std::string operation_of(const ExplainedJob& job, const TracedStep& step,
                         Language language);
std::string formula_of(const ExplainedJob& job, const TracedStep& step,
                       Language language = Language::en);

}  // namespace headwise::cli
