// `headwise train --task induction` from its options to its model and report.
#pragma once

#include "shell/command.h"
#include "shell/outcome.h"
#include "task_flags.h"

namespace headwise::cli {

// Whether that is the task, of --task or of the checkpoint of --resume.
bool is_induction(const TaskFlags& flags);

Outcome run_induction(const TaskFlags& flags, const Streams& streams);

}  // namespace headwise::cli
