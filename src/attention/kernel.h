// The kernel that AttentionPlan runs on the CPU.
#pragma once

#include "attention/inputs.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"

namespace headwise {

// For a call that was checked. Errors: out_of_memory.
Status forward_kernel(const AttentionSpec& spec,
                      const AttentionInputsOf<float>& inputs,
                      const AttentionOutputs& outputs);

}  // namespace headwise
