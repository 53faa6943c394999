// How many threads a command runs on.
#pragma once

#include <cstddef>

#include "headwise/base/result.h"
#include "headwise/run/executor.h"
#include "option_row.h"

namespace headwise::cli {

// --threads; 0, the default, is all of them.
OptionRow threads_option(std::size_t& threads);
Result<Executor> executor_with(std::size_t threads);

}  // namespace headwise::cli
