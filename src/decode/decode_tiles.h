// Sequences of many queries, or calls with options that only tiles serve: a
// block of stored keys is packed once for several tiles of queries.
#pragma once

#include <cstddef>

#include "decode/decode_call.h"

namespace headwise::inline HEADWISE_ABI {

// The most bytes for calls like `spec`, of any lengths.
std::size_t decode_tiles_bytes(const AttentionSpec& spec,
                               const KvCacheOptions& options);
// Leaves sequences of fewer queries than `least` out.
void decode_tiles(const DecodeCall& call, std::size_t least,
                  std::byte* workspace);

}  // namespace headwise::inline HEADWISE_ABI
