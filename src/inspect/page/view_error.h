// How far the attention weights that a page computes are from the true ones.
#pragma once

#include "inspect/page/view_head.h"

namespace headwise::inline HEADWISE_ABI {

// An upper bound over all pairs of the head, for a page that has query and key
// in binary16 and the log-sum-exp in float32. Exact for each query's keys of
// `top_keys`, which have its largest attention weights; what the others can
// differ by follows from the Cauchy-Schwarz inequality. Throws std::bad_alloc.
double tile_error(const ViewedHead& head);

}  // namespace headwise::inline HEADWISE_ABI
