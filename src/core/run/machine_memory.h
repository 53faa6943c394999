// How much memory a plan may ask for.
#pragma once

#include <unistd.h>

#include <cstddef>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// Errors: out_of_memory for a workspace that is larger than the machine's
// memory: no run could have it.
inline Status check_machine_has(std::size_t workspace_bytes) {
  const auto pages = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return workspace_bytes / page < pages
             ? ok()
             : Status(Error::no_memory_for(workspace_bytes));
}

}  // namespace headwise::inline HEADWISE_ABI
