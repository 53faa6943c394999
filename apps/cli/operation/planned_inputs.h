// The files that the options of the operation name.
#pragma once

#include "operation_flags.h"
#include "shell/file_plan.h"

namespace headwise::cli {

void plan_inputs(FilePlan& plan, const OperationFlags& flags);

}  // namespace headwise::cli
