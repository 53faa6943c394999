// Sequences of few queries: their rows read the stored keys and values as they
// are.
#pragma once

#include <cstddef>

#include "decode/decode_call.h"

namespace headwise::inline HEADWISE_ABI {

// Whether this path serves the sequences of few queries, up to kFewQueries.
bool reads_stored_rows(const DecodeCall& call);
// The most bytes for calls of up to `max_queries` queries of any sequences.
std::size_t decode_rows_bytes(const AttentionSpec& spec,
                              const KvCacheOptions& options,
                              std::size_t max_queries);
// Leaves the others out.
void decode_rows(const DecodeCall& call, std::byte* workspace);

}  // namespace headwise::inline HEADWISE_ABI
