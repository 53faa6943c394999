// Some tiles against all keys of one head, block by block: each takes a block
// while that is near.
#pragma once

#include <cstddef>
#include <span>

#include "attention/check_parts.h"
#include "attention/forward/packed_head.h"
#include "attention/forward/query_tile.h"
#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI {

// Where a range's attention weights go; no data: they are not wanted.
inline kernels::Rows<float> weights_of(const AttentionSpec& spec,
                                       const CallTensors& tensors,
                                       const QueryRange& range) {
  return spec.attn_weights == AttnWeights::none
             ? kernels::Rows<float>{}
             : rows_of(tensors.floats<4>(CallTensor::attn_weights), range);
}

// Tile n takes the queries range_of(n).
template <class RangeOf>
void run_tiles(const AttentionSpec& spec, const CallTensors& tensors,
               const PackedHead& head, std::span<QueryTile> tiles,
               const RangeOf& range_of) {
  for (std::size_t n = 0; n < tiles.size(); ++n) {
    tiles[n].begin(range_of(n), tensors);
    if (!has_first_keys(spec.key_part)) {
      tiles[n].resume(tensors);
    }
  }
  for (std::size_t block = head.first_block(); block < head.end_block();
       ++block) {
    for (QueryTile& tile : tiles) {
      tile.take(head, block);
    }
  }
  for (std::size_t n = 0; n < tiles.size(); ++n) {
    if (!has_last_keys(spec.key_part)) {
      tiles[n].save(tensors);
      continue;
    }
    tiles[n].finish(tensors, head, weights_of(spec, tensors, range_of(n)));
  }
}

}  // namespace headwise::inline HEADWISE_ABI
