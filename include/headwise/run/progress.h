// How a long step reports its progress. The library draws nothing.
#pragma once

#include <cstddef>
#include <functional>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Called with the number of items done and their total, from 0 to the total.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
