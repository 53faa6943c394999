// The files that `headwise generate` writes.
#pragma once

#include <string>

#include "generate_flags.h"
#include "generate_job.h"
#include "shell/outcome.h"

namespace headwise::cli {

// Those that were asked for, of the first variant. With several prompts, the
// entries of prompt n, from 0, begin with "n/".
Outcome write_generated(const GenerateFlags& flags, const GenerateJob& job,
                        const Variant& variant);

}  // namespace headwise::cli
