// Calls whose attention weights are the mean over the query heads: a task is
// some queries of every head in turn.
#pragma once

#include <cstddef>

#include "decode/decode_call.h"

namespace headwise::inline HEADWISE_ABI {

// The most bytes for calls like `spec`, with memory for the weights of the
// longest sequence that the cache has room for.
std::size_t decode_mean_bytes(const AttentionSpec& spec,
                              const CacheState& cache);
void decode_mean(const DecodeCall& call, std::byte* workspace);

}  // namespace headwise::inline HEADWISE_ABI
