// The pieces in which tokens travel, and their way through the ranks.
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
// of the tokens.
template <class SomeShard>
struct Chunk {
  std::size_t row = 0;  // of the owner's tensors
  std::size_t rows = 0;
  std::vector<SomeShard> shards{};
  // The owner, then the other ranks that need the chunk. Empty: none does.
  std::vector<std::size_t> route{};
};
using KeyChunk = Chunk<Shard>;
using QueryChunk = Chunk<QueryShard>;

// Those of all chunks.
template <class SomeShard>
std::vector<SomeShard> shards_in(std::span<const Chunk<SomeShard>> chunks) {
  std::vector<SomeShard> shards;
  for (const Chunk<SomeShard>& chunk : chunks) {
    shards.insert(shards.end(), chunk.shards.begin(), chunk.shards.end());
  }
  return shards;
}

// Keys on their way to the queries that may see them, in the order of the keys.
// A chunk has `most` rows or fewer, and no block of 128 keys is cut.
//
// Errors: invalid_argument for a shard that begins within a block.
Result<std::vector<KeyChunk>> key_chunks(const Shards& shards, std::size_t most,
                                         std::size_t ranks,
                                         std::string_view operation);

// Queries on their way to the keys that they may see, in the order of the
// queries, whose blocks are 48.
Result<std::vector<QueryChunk>> query_chunks(const Shards& shards,
                                             std::size_t most,
                                             std::size_t ranks,
                                             std::string_view operation);

// As many queries as fit into the memory of a chunk of keys, but no more than
// it has keys, and at least a block. The sizes are those of a row.
std::size_t queries_in_room_of(std::size_t keys, std::size_t key_bytes,
                               std::size_t query_bytes);

// A rank on the route receives a chunk from one rank and sends it to several,
// so that neither one link carries every copy nor many ranks wait for each
// other: the n-th of the route sends to kFanOut ranks from the
// (n * kFanOut + 1)-th on.
inline constexpr std::size_t kFanOut = 8;
std::size_t source_of(std::span<const std::size_t> route, std::size_t rank);
std::span<const std::size_t> targets_of(std::span<const std::size_t> route,
                                        std::size_t rank);

// Whether every rank receives its chunks before it takes the first one. In a
// stream a rank waits for chunks that their owner reaches late: under a window
// that is shorter than a rank's tokens, ranks would compute one after another.
// So they receive first where no rank has to hold many: two chunks, or as many
// rows of others as ranks have of their own, but no more than a quarter of all.
class RowsOfOthers {
 public:
  explicit RowsOfOthers(std::size_t ranks) : own_(ranks), of_others_(ranks) {}

  void add_chunk(std::size_t owner, std::size_t rows);
  // A rank that needs a chunk of another one.
  void add_need(std::size_t rank, std::size_t rows) {
    of_others_[rank] += rows;
  }
  bool arrive_first() const;

 private:
  std::vector<std::size_t> own_;
  std::vector<std::size_t> of_others_;
  std::size_t longest_ = 0;
};

template <class SomeChunk>
bool arrive_first(std::span<const SomeChunk> chunks, std::size_t ranks) {
  RowsOfOthers rows(ranks);
  for (const SomeChunk& chunk : chunks) {
    const std::size_t owner = chunk.shards.front().rank;
    rows.add_chunk(owner, chunk.rows);
    for (const std::size_t rank : chunk.route) {
      if (rank != owner) {
        rows.add_need(rank, chunk.rows);
      }
    }
  }
  return rows.arrive_first();
}

// "keys 768 to 1151", what messages call it.
Message name_of(const KeyChunk& chunk);
Message name_of(const QueryChunk& chunk);

}  // namespace headwise::inline HEADWISE_ABI
