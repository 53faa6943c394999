// The kernel of a call that asks for statistics.
#pragma once

#include <cstddef>

#include "attention/inputs.h"
#include "headwise/attention/schedule.h"
#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI {

// As workspace_bytes() and forward_kernel() (kernel.h), which call these.
std::size_t statistics_workspace_bytes(const AttentionSpec& spec,
                                       const Schedule& schedule);
void statistics_kernel(const AttentionSpec& spec, const Schedule& schedule,
                       const AttentionInputsOf<float>& inputs,
                       const AttentionOutputs& outputs, std::byte* workspace);

}  // namespace headwise::inline HEADWISE_ABI
