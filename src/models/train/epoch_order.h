// The order in which an epoch takes the examples: different in each epoch, the
// same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headwise/base/random.h"

namespace headwise::inline HEADWISE_ABI {

// The numbers 0 to count - 1, sorted by random numbers of (seed, epoch, n).
std::vector<std::size_t> epoch_order(Seed seed, std::uint32_t epoch,
                                     std::size_t count);

}  // namespace headwise::inline HEADWISE_ABI
