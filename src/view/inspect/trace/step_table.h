// All steps that a trace may have.
#pragma once

#include <span>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// The names of all steps, in the order of a pass.
std::span<const std::string_view> step_names();

}  // namespace headwise::inline HEADWISE_ABI
