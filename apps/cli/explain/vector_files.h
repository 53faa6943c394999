// --query, --key and --value: the user's vectors in place of token ids.
#pragma once

#include "explain_flags.h"
#include "headwise/base/result.h"
#include "job_input.h"

namespace headwise::cli {

// A job of these vectors, as wide as the queries. --key is --query unless it is
// given, --value is --key. Errors: those of the files; shape_mismatch.
Result<JobInput> from_vectors(const ExplainFlags& flags);

}  // namespace headwise::cli
