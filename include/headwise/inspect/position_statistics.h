// Which statistics of a head say something (attention/statistics.h).
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"
#include "headwise/attention/statistics.h"
#include "headwise/attention/statistics_options.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Whether the statistic compares the position of the query with those of the
// keys. Such a statistic has no meaning for cross-attention.
constexpr bool compares_positions(Statistic statistic) {
  return statistic == Statistic::distance || statistic == Statistic::previous ||
         statistic == Statistic::self || statistic == Statistic::next;
}

// Whether a query of head h of sequence b may attend to the key after it. If
// none may, as with a causal mask, Statistic::next is 0 whatever the head does.
bool may_attend_to_next(const AttentionSpec& spec, std::size_t b,
                        std::size_t h);
// Whether a key of sequence b is a separator. If none is, Statistic::separator
// is 0 whatever the head does.
bool has_separator(const AttentionSpec& spec, std::size_t b);

// The means, over all sequences of the spec, that are 0 whatever the head does
// become NaN.
void leave_out_unknown(const AttentionSpec& spec, PooledStatistics& pooled);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
