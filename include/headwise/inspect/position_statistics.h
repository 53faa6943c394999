// Which statistics of a head need queries and keys of the same sequence.
#pragma once

#include "headwise/attention/statistics_options.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Whether the statistic compares the position of the query with those of the
// keys. Such a statistic has no meaning for cross-attention.
constexpr bool compares_positions(Statistic statistic) {
  return statistic == Statistic::distance || statistic == Statistic::previous ||
         statistic == Statistic::self || statistic == Statistic::next;
}

}  // namespace headwise::inline HEADWISE_ABI
