// --parallel: how a call is divided among ranks.
#pragma once

#include <string_view>

#include "headwise/distribute/shard_plan.h"

namespace headwise::cli {

// Of context, heads or auto.
inline Parallel parallel_of(std::string_view scheme) {
  return scheme == "context" ? Parallel::context
         : scheme == "heads" ? Parallel::heads
                             : Parallel::automatic;
}

}  // namespace headwise::cli
