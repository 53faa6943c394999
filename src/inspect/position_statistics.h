// Which statistics of a head mean nothing for cross-attention.
#pragma once

#include "headwise/attention/statistics_options.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Whether it compares the position of the query with those of the keys, which
// says nothing where they are of two sequences.
constexpr bool compares_positions(Statistic statistic) {
  return statistic == Statistic::distance || statistic == Statistic::previous ||
         statistic == Statistic::self || statistic == Statistic::next;
}

}  // namespace headwise::inline HEADWISE_ABI
