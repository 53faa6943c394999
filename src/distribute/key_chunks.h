// The pieces in which keys and values travel, and their way through the ranks.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "distribute/shards.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// Rows of one rank that are next to one another in its tensors and in the order
// of the keys.
struct KeyChunk {
  std::size_t row = 0;  // of the owner's tensors
  std::size_t rows = 0;
  std::vector<Shard> shards{};
  // The owner, then the other ranks whose queries may see one of the keys.
  // Empty: nobody needs it.
  std::vector<std::size_t> route{};
};

// A rank on the route receives the chunk from one rank and sends it to several,
// so that neither one link carries every copy nor many ranks wait for each
// other: the n-th of the route sends to kFanOut ranks from the
// (n * kFanOut + 1)-th on.
inline constexpr std::size_t kFanOut = 8;
std::size_t source_of(const KeyChunk& chunk, std::size_t rank);
std::span<const std::size_t> targets_of(const KeyChunk& chunk,
                                        std::size_t rank);

// In the order of the keys, of `most` rows or fewer, a multiple of 128.
//
// Errors: invalid_argument for a shard that begins within a block of 128 keys.
Result<std::vector<KeyChunk>> key_chunks(std::span<const Shard> keys,
                                         std::size_t most,
                                         std::span<const QueryShard> queries,
                                         std::size_t ranks,
                                         std::string_view operation);

// "keys 768 to 1151", what messages call it.
std::string name_of(const KeyChunk& chunk);

}  // namespace headwise::inline HEADWISE_ABI
