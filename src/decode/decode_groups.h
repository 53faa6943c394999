// Sequences of few queries on a cache whose values are in the keys: the rows of
// all query heads of a group are the lanes of a tile.
#pragma once

#include <cstddef>

#include "decode/decode_call.h"

namespace headwise::inline HEADWISE_ABI {

// Whether this path serves the sequences of few queries, up to kFewQueries.
bool reads_groups(const DecodeCall& call);
// The most bytes for calls like `spec`, of any lengths.
std::size_t decode_groups_bytes(const AttentionSpec& spec,
                                const KvCacheOptions& options);
// Leaves the others out.
void decode_groups(const DecodeCall& call, std::byte* workspace);

}  // namespace headwise::inline HEADWISE_ABI
