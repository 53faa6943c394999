// What the score of a head is compared with.
#pragma once

#include "headwise/heads/find_heads.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// The score of a head that gives every key it sees the same attention: what a
// score is compared with. 0 for positional; NaN if Q is empty.
double uniform_score(HeadPattern pattern, const PatternText& text, bool causal);

}  // namespace headwise::inline HEADWISE_ABI
