// What the two executors (oneTBB, std::thread) have in common.
#pragma once

#include <cstddef>

#include "base/check.h"
#include "headwise/run/executor.h"

namespace headwise::inline HEADWISE_ABI {

inline Status check_threads(std::size_t threads) {
  return check_at_least_one("executor", "threads", threads);
}

}  // namespace headwise::inline HEADWISE_ABI
