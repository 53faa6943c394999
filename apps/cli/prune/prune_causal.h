// `headwise prune` of a causal model: without the heads of --heads.
#pragma once

#include "headwise/run/executor.h"
#include "prune_flags.h"
#include "shell/command.h"
#include "shell/outcome.h"

namespace headwise::cli {

Outcome prune_causal(const PruneFlags& flags, const Executor& executor,
                     const Streams& streams);

}  // namespace headwise::cli
