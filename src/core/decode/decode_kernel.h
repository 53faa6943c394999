// The kernel of a DecodePlan: the sequences of few queries read the stored keys
// as they are, those of more queries read blocks of them that are packed once
// for many. Checks and allocates nothing.
#pragma once

#include <cstddef>

#include "decode/decode_call.h"

namespace headwise::inline HEADWISE_ABI {

// The most bytes for calls on one cache. `spec` is one of them, of a single
// sequence: the others have other lengths and numbers of sequences, and no more
// than `max_queries` queries.
std::size_t decode_workspace_bytes(const AttentionSpec& spec,
                                   const CacheState& cache,
                                   std::size_t max_queries);
// `workspace` has that many bytes, on a 64-byte boundary.
void decode_kernel(const DecodeCall& call, std::byte* workspace);

}  // namespace headwise::inline HEADWISE_ABI
