#include "distribute/key_chunks.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kernels/attention_tile.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using kernels::kKeyBlock;

Status check_blocks(std::span<const Shard> keys, std::string_view operation) {
  for (const Shard& shard : keys) {
    if (shard.tokens.first % kKeyBlock != 0) {
      return value_error(
          operation, "plan.keys",
          "cut at key " + std::to_string(shard.tokens.first) + " of a sequence",
          "cuts at multiples of " + std::to_string(kKeyBlock));
    }
  }
  return ok();
}

bool continues(const KeyChunk& chunk, const Shard& shard) {
  return !chunk.shards.empty() && chunk.shards.front().rank == shard.rank &&
         chunk.row + chunk.rows == shard.row;
}

// Fills chunks to the brim only where the rest ends with a block of keys.
std::vector<KeyChunk> cut(std::span<const Shard> keys, std::size_t most) {
  std::vector<KeyChunk> chunks;
  for (Shard rest : keys) {
    while (rest.tokens.count != 0) {
      if (chunks.empty() || !continues(chunks.back(), rest) ||
          chunks.back().rows + std::min(rest.tokens.count, kKeyBlock) > most) {
        chunks.push_back({.row = rest.row});
      }
      KeyChunk& chunk = chunks.back();
      const std::size_t room = most - chunk.rows;
      Shard taken = rest;
      taken.tokens.count = rest.tokens.count <= room
                               ? rest.tokens.count
                               : room / kKeyBlock * kKeyBlock;
      chunk.rows += taken.tokens.count;
      chunk.shards.push_back(taken);
      rest.tokens.first += taken.tokens.count;
      rest.tokens.count -= taken.tokens.count;
      rest.row += taken.tokens.count;
    }
  }
  return chunks;
}

std::vector<std::size_t> route_of(const KeyChunk& chunk,
                                  std::span<const QueryShard> queries,
                                  std::size_t ranks) {
  std::vector<bool> needs(ranks, false);
  for (const Shard& keys : chunk.shards) {
    for (const QueryShard& q : of_sequence(queries, keys.sequence)) {
      if (sees(q, keys)) {
        needs[q.rank] = true;
      }
    }
  }
  const std::size_t owner = chunk.shards.front().rank;
  std::vector<std::size_t> route;
  for (std::size_t n = 1; n < ranks; ++n) {
    if (const std::size_t rank = (owner + n) % ranks; needs[rank]) {
      route.push_back(rank);
    }
  }
  if (!route.empty() || needs[owner]) {
    route.insert(route.begin(), owner);
  }
  return route;
}

}  // namespace

Result<std::vector<KeyChunk>> key_chunks(std::span<const Shard> keys,
                                         std::size_t most,
                                         std::span<const QueryShard> queries,
                                         std::size_t ranks,
                                         std::string_view operation) {
  HEADWISE_TRY(check_blocks(keys, operation));
  std::vector<KeyChunk> chunks = cut(keys, most);
  for (KeyChunk& chunk : chunks) {
    chunk.route = route_of(chunk, queries, ranks);
  }
  return chunks;
}

namespace {

std::size_t place_of(const KeyChunk& chunk, std::size_t rank) {
  return static_cast<std::size_t>(std::ranges::find(chunk.route, rank) -
                                  chunk.route.begin());
}

}  // namespace

std::size_t source_of(const KeyChunk& chunk, std::size_t rank) {
  return chunk.route[(place_of(chunk, rank) - 1) / kFanOut];
}

std::span<const std::size_t> targets_of(const KeyChunk& chunk,
                                        std::size_t rank) {
  const std::span<const std::size_t> route = chunk.route;
  const std::size_t first =
      std::min(place_of(chunk, rank) * kFanOut + 1, route.size());
  return route.subspan(first, std::min(kFanOut, route.size() - first));
}

std::string name_of(const KeyChunk& chunk) {
  const Shard& first = chunk.shards.front();
  const Shard& last = chunk.shards.back();
  return "keys " + std::to_string(first.tokens.first) + " to " +
         std::to_string(last.tokens.first + last.tokens.count - 1);
}

}  // namespace headwise::inline HEADWISE_ABI
