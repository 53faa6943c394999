// How long a run trained, as reports say it.
#pragma once

#include <string>

#include "headwise/base/arithmetic.h"

namespace headwise::cli {

// "3.2 s", in bf16 "3.2 s, bf16"
std::string training_time(double seconds, Arithmetic arithmetic);

}  // namespace headwise::cli
