// --arithmetic: the numbers that a command multiplies.
#pragma once

#include <string>

#include "headwise/base/arithmetic.h"
#include "shell/option_row.h"

namespace headwise::cli {

// As typed; empty where it was not given.
OptionRow arithmetic_option(std::string& arithmetic);

Arithmetic arithmetic_of(const std::string& typed,
                         Arithmetic otherwise = Arithmetic::exact);

}  // namespace headwise::cli
