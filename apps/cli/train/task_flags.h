// The options of `headwise train --task`, as typed; an empty string is an
// option that was not given.
#pragma once

#include <cstddef>
#include <string>

#include "train_flags.h"

namespace headwise::cli {

struct TaskFlags : TrainFlags {
  std::string task;
  std::string scoring;
  std::size_t steps = 400;
};

}  // namespace headwise::cli
