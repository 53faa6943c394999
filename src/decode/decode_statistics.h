// Calls with statistics: the rows of each query head in chunks, as
// attention/statistics sums them.
#pragma once

#include <cstddef>

#include "decode/decode_call.h"

namespace headwise::inline HEADWISE_ABI {

// The most bytes for calls like `spec`, of up to `max_queries` queries. Columns
// take memory for the longest sequence that the cache has room for, everything
// else is of any lengths.
std::size_t decode_statistics_bytes(const AttentionSpec& spec,
                                    const CacheState& cache,
                                    std::size_t max_queries);
void decode_statistics(const DecodeCall& call, std::byte* workspace);

}  // namespace headwise::inline HEADWISE_ABI
