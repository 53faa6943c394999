// A step's formula as it is in one pass.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "headwise/inspect/step_table.h"
#include "headwise/inspect/trace.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// The formula of step_table() over what `steps`, those of the pass, are called:
// q = hidden @ ... where the layer takes `hidden`, the softmax over the masked
// scores where there is a mask. `group` query heads read each head of keys.
// Throws std::bad_alloc.
std::string step_formula(const StepInfo& step,
                         std::span<const TracedStep> steps, std::size_t group,
                         Language language);

}  // namespace headwise::inline HEADWISE_ABI
