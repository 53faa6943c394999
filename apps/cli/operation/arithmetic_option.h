// --arithmetic: the numbers that a command multiplies.
#pragma once

#include <string>

#include "headwise/base/arithmetic.h"

namespace headwise::cli {

class Arguments;

// As typed; empty where it was not given.
void add_arithmetic_option(const Arguments& arguments, std::string& arithmetic);

Arithmetic arithmetic_of(const std::string& typed,
                         Arithmetic otherwise = Arithmetic::exact);

}  // namespace headwise::cli
