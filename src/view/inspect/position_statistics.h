// What must be there for statistics of positions to say something.
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Whether a query of head h of sequence b may attend to the key after it. If
// none may, as with a causal mask, Statistic::next is 0 whatever the head does.
bool may_attend_to_next(const AttentionSpec& spec, std::size_t b,
                        std::size_t h);
// Whether a key of sequence b is a separator. If none is, Statistic::separator
// is 0 whatever the head does.
bool has_separator(const AttentionSpec& spec, std::size_t b);

}  // namespace headwise::inline HEADWISE_ABI
