// The files that options name which several commands have.
#pragma once

#include "file_plan.h"
#include "operation_flags.h"
#include "seen_flags.h"

namespace headwise::cli {

void plan_inputs(FilePlan& plan, const OperationFlags& flags);
void plan_inputs(FilePlan& plan, const SeenFlags& flags);

}  // namespace headwise::cli
