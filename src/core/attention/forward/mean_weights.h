// The mean of the attention weights over the query heads: a tile takes the
// heads in turn and adds the weights of each.
#pragma once

#include "attention/forward/packed_head.h"
#include "attention/forward/query_range.h"
#include "attention/forward/query_tile.h"
#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI {

// Attends with some queries of one head, and adds their weights to the mean.
// The heads come in order, from head 0 on. `weights`: room for (range.count,
// spec.pair_columns()).
void add_head_to_mean(const AttentionSpec& spec, const CallTensors& tensors,
                      const PackedHead& head, const QueryRange& range,
                      QueryTile& tile, float* weights);

}  // namespace headwise::inline HEADWISE_ABI
