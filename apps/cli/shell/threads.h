// How many threads a command runs on.
#pragma once

#include <cstddef>

#include "headwise/base/result.h"
#include "headwise/run/executor.h"

namespace headwise::cli {

class Arguments;

// --threads; 0, the default, is all of them.
void add_threads_option(const Arguments& command, std::size_t& threads);
Result<Executor> executor_with(std::size_t threads);

}  // namespace headwise::cli
