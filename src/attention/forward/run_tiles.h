// Some tiles against all keys of one head, block by block: each takes a block
// while that is near.
#pragma once

#include <cstddef>
#include <span>

#include "attention/call_views.h"
#include "attention/forward/packed_head.h"
#include "attention/forward/query_tile.h"
#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI {

// Where a range's attention weights go; no data: they are not wanted.
inline kernels::Rows<float> weights_of(const AttentionSpec& spec,
                                       const CallOutputs& outputs,
                                       const QueryRange& range) {
  const TensorView<float, 4>& all = outputs.attn_weights;
  if (spec.attn_weights == AttnWeights::none || spec.shape.Lkv == 0 ||
      range.count == 0) {
    return {};
  }
  return {&all(range.b, range.h, range.first, 0), range.count, all.stride(2),
          all.stride(3)};
}

// Tile n takes the queries range_of(n).
template <class RangeOf>
void run_tiles(const AttentionSpec& spec, const CallInputs& inputs,
               const CallOutputs& outputs, const PackedHead& head,
               std::span<QueryTile> tiles, const RangeOf& range_of) {
  for (std::size_t n = 0; n < tiles.size(); ++n) {
    tiles[n].begin(range_of(n), inputs);
  }
  for (std::size_t block = head.first_block(); block < head.end_block();
       ++block) {
    for (QueryTile& tile : tiles) {
      tile.take(head, block);
    }
  }
  for (std::size_t n = 0; n < tiles.size(); ++n) {
    tiles[n].finish(inputs, outputs, head,
                    weights_of(spec, outputs, range_of(n)));
  }
}

}  // namespace headwise::inline HEADWISE_ABI
