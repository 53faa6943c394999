// Sequences of few queries on a cache whose values are in the keys: the rows of
// all query heads of a group are the lanes of a tile. Where there are few of
// them, tasks are blocks of keys, whose results are folded in order.
#pragma once

#include <cstddef>

#include "decode/decode_call.h"

namespace headwise::inline HEADWISE_ABI {

// Whether this path serves the sequences of few queries, up to kFewQueries.
bool reads_groups(const DecodeCall& call);
// The most bytes for calls of up to `max_queries` queries of any sequences.
std::size_t decode_groups_bytes(const AttentionSpec& spec,
                                const KvCacheOptions& options,
                                std::size_t max_queries);
// Leaves the others out.
void decode_groups(const DecodeCall& call, std::byte* workspace);

}  // namespace headwise::inline HEADWISE_ABI
