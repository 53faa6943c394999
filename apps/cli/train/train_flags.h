// The options of `headwise train --task`, as typed; an empty string is an
// option that was not given.
#pragma once

#include <cstddef>
#include <string>

#include "learn_flags.h"

namespace headwise::cli {

struct TrainFlags : LearnFlags {
  std::string task;
  std::string scoring;
  std::size_t steps = 400;
};

}  // namespace headwise::cli
