// The rules of a mask that are intervals of keys, as one interval a row; and
// the tiles that follow from them. Computed on the host, once a plan.
#pragma once

#include <cstddef>
#include <vector>

#include "cuda/call.h"
#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI::cuda {

// (B, Lq); rows behind the end of a sequence see nothing. Empty when every row
// sees all keys of its sequence.
std::vector<KeyRange> key_ranges(const AttentionSpec& spec);

// All queries in tiles of `rows`. `ranges` are key_ranges().
std::vector<QueryTile> query_tiles(const AttentionSpec& spec,
                                   const std::vector<KeyRange>& ranges,
                                   std::size_t rows);
// All keys in tiles of `keys`, for queries in blocks of `rows`.
// `uniform`: rows without a key weigh every value, so every tile sees them all.
std::vector<KeyTile> key_tiles(const AttentionSpec& spec,
                               const std::vector<KeyRange>& ranges,
                               std::size_t keys, std::size_t rows,
                               bool uniform);
// Every tile once a key head, those with the most queries first.
std::vector<WorkItem> key_work(const AttentionSpec& spec,
                               const std::vector<KeyTile>& tiles);
// Every tile once a query head, the tiles of one key head side by side, those
// with the most keys first.
std::vector<WorkItem> query_work(const AttentionSpec& spec,
                                 const std::vector<QueryTile>& tiles);

}  // namespace headwise::inline HEADWISE_ABI::cuda
