// Every rank gets what each rank has.
#pragma once

#include <span>

#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// all[r] is written on every rank but r, which has its numbers there. Errors:
// rank_failure.
Status exchange_all(Communicator& group, std::span<const std::span<float>> all);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
