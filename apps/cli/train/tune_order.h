// The order in which an epoch takes the examples: another in each, the same on
// every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headwise/base/random.h"

namespace headwise::cli {

// The numbers 0 to count - 1, sorted by random numbers of (seed, epoch, n).
std::vector<std::size_t> epoch_order(Seed seed, std::uint32_t epoch,
                                     std::size_t count);

}  // namespace headwise::cli
