// The options of `headwise train --task`, as typed; an empty string is an
// option that was not given.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "train_flags.h"

namespace headwise::cli {

// Of a task whose --steps are not given.
inline constexpr std::size_t kTaskSteps = 400;

struct TaskFlags : TrainFlags {
  std::string task;
  std::string scoring;
  std::optional<std::size_t> steps;  // not given: that of the task
};

}  // namespace headwise::cli
