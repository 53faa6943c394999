// Names of parameters in the layouts that headwise reads.
#pragma once

#include <string>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// headwise's name of a single parameter: "w_o.weight" for "fc_o.weight",
// "W_o.weight" or "w_0.weight"; any other name is returned unchanged.
std::string param_name(std::string_view name);

}  // namespace headwise::inline HEADWISE_ABI
