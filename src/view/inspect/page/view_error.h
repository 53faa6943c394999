// How far the attention weights that a page computes are from the true ones.
#pragma once

#include "inspect/page/view_head.h"

namespace headwise::inline HEADWISE_ABI {

// An upper bound over all pairs of the head, for a page that has query and key
// in binary16 and the log-sum-exp in float32. It is exact for the keys in each
// query's `top_keys`, which have the largest attention weights; the bound for
// the other keys follows from the Cauchy-Schwarz inequality. Throws
// std::bad_alloc.
double tile_error(const ViewedHead& head);
// The same where all weights are known, with the log-sum-exp of the rounded
// scores: those of a row then sum to what the true ones do.
double rounding_error(const ViewedHead& head);
// Of that log-sum-exp; 0 where both are infinite.
double lse_error(const ViewedHead& head);

}  // namespace headwise::inline HEADWISE_ABI
