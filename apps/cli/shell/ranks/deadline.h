// --deadline: how long the processes of a job wait for one another.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "shell/option_row.h"

namespace headwise::cli {

// The time for join_job(), from the option in seconds.
std::chrono::milliseconds longest_wait(std::optional<std::size_t> deadline);

// The option of a command that divides its work under mpirun.
OptionRow deadline_option(std::optional<std::size_t>& deadline);

}  // namespace headwise::cli
