// `headwise train --task ..` from its options to its files and its report.
#pragma once

#include "shell/command.h"
#include "shell/outcome.h"
#include "task_flags.h"

namespace headwise::cli {

Outcome run_task(const TaskFlags& flags, const Streams& streams);

}  // namespace headwise::cli
