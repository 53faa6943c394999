// The files that options name which several commands have.
#pragma once

#include "file_plan.h"
#include "operation/operation_flags.h"
#include "view/viewed_flags.h"

namespace headwise::cli {

void plan_inputs(FilePlan& plan, const OperationFlags& flags);
void plan_inputs(FilePlan& plan, const ViewedFlags& flags);

}  // namespace headwise::cli
