// The files that the options of the operation name.
#pragma once

#include "operation_flags.h"
#include "rotary_flags.h"
#include "shell/file_plan.h"

namespace headwise::cli {

void plan_inputs(FilePlan& plan, const OperationFlags& flags);
void plan_inputs(FilePlan& plan, const RotaryFlags& flags);

}  // namespace headwise::cli
