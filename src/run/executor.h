// What the two executors (oneTBB, std::thread) have in common.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/check.h"
#include "headwise/run/executor.h"

namespace headwise {

// How many ranges of at least `grain` indices a loop is worth.
inline std::size_t count_ranges(std::size_t count, std::size_t grain) {
  return count / std::max<std::size_t>(grain, 1);
}

inline Status check_threads(std::size_t threads) {
  return check_at_least_one("executor", "threads", threads);
}

}  // namespace headwise
