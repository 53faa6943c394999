// `headwise train --model ..` from its options to its files and its report.
#pragma once

#include "shell/command.h"
#include "shell/outcome.h"
#include "tune_flags.h"

namespace headwise::cli {

Outcome run_tune(const TuneFlags& flags, const Streams& streams);

}  // namespace headwise::cli
