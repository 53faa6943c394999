#include "distribute/chunks.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "kernels/attention_tile.h"
#include "kernels/gradient_tile.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using kernels::kKeyBlock;
using kernels::kQueryBlock;

template <class SomeShard>
Status check_blocks(std::span<const SomeShard> shards, std::size_t block,
                    std::string_view operation, std::string_view argument) {
  for (const Shard& shard : shards) {
    if (shard.tokens.first % block != 0) {
      return argument_error(
          operation, argument,
          message("is cut at token {} of a sequence", shard.tokens.first),
          message("cuts at multiples of {}", block));
    }
  }
  return ok();
}

template <class SomeShard>
bool continues(const Chunk<SomeShard>& chunk, const Shard& shard) {
  return !chunk.shards.empty() && chunk.shards.front().rank == shard.rank &&
         chunk.row + chunk.rows == shard.row;
}

// Cuts a shard only between blocks, so a chunk may have fewer rows than fit.
template <class SomeShard>
std::vector<Chunk<SomeShard>> cut_shards(std::span<const SomeShard> shards,
                                         std::size_t most, std::size_t block) {
  std::vector<Chunk<SomeShard>> chunks;
  for (SomeShard rest : shards) {
    while (rest.tokens.count != 0) {
      if (chunks.empty() || !continues(chunks.back(), rest) ||
          chunks.back().rows + std::min(rest.tokens.count, block) > most) {
        chunks.push_back({.row = rest.row});
      }
      Chunk<SomeShard>& chunk = chunks.back();
      const std::size_t room = most - chunk.rows;
      SomeShard taken = rest;
      taken.tokens.count =
          rest.tokens.count <= room ? rest.tokens.count : room / block * block;
      chunk.rows += taken.tokens.count;
      chunk.shards.push_back(taken);
      rest.tokens.first += taken.tokens.count;
      rest.tokens.count -= taken.tokens.count;
      rest.row += taken.tokens.count;
    }
  }
  return chunks;
}

std::vector<std::size_t> route_from(std::size_t owner,
                                    const std::vector<bool>& needs) {
  const std::size_t ranks = needs.size();
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

std::size_t place_in_route(std::span<const std::size_t> route,
                           std::size_t rank) {
  return static_cast<std::size_t>(std::ranges::find(route, rank) -
                                  route.begin());
}

template <class SomeShard>
Message chunk_tokens(const Chunk<SomeShard>& chunk) {
  const Shard& first = chunk.shards.front();
  const Shard& last = chunk.shards.back();
  return message("{} to {}", first.tokens.first,
                 last.tokens.first + last.tokens.count - 1);
}

}  // namespace

Result<std::vector<KeyChunk>> key_chunks(const Shards& shards, std::size_t most,
                                         std::size_t ranks,
                                         std::string_view operation) {
  const std::span<const Shard> keys = shards.keys;
  HEADWISE_TRY(check_blocks(keys, kKeyBlock, operation, "plan.keys"));
  std::vector<KeyChunk> chunks = cut_shards(keys, most, kKeyBlock);
  for (KeyChunk& chunk : chunks) {
    std::vector<bool> needs(ranks, false);
    for (const Shard& of_chunk : chunk.shards) {
      for (const QueryShard& queries :
           of_sequence<QueryShard>(shards.queries, of_chunk.sequence)) {
        if (sees(queries, of_chunk)) {
          needs[queries.rank] = true;
        }
      }
    }
    chunk.route = route_from(chunk.shards.front().rank, needs);
  }
  return chunks;
}

Result<std::vector<QueryChunk>> query_chunks(const Shards& shards,
                                             std::size_t most,
                                             std::size_t ranks,
                                             std::string_view operation) {
  const std::span<const QueryShard> queries = shards.queries;
  HEADWISE_TRY(check_blocks(queries, kQueryBlock, operation, "plan.queries"));
  std::vector<QueryChunk> chunks = cut_shards(queries, most, kQueryBlock);
  for (QueryChunk& chunk : chunks) {
    std::vector<bool> needs(ranks, false);
    for (QueryShard& of_chunk : chunk.shards) {
      // Fewer than the whole shard sees.
      of_chunk.seen = seen_keys(shards.mask, of_chunk);
      for (const Shard& keys :
           of_sequence<Shard>(shards.keys, of_chunk.sequence)) {
        if (sees(of_chunk, keys)) {
          needs[keys.rank] = true;
        }
      }
    }
    chunk.route = route_from(chunk.shards.front().rank, needs);
  }
  return chunks;
}

std::size_t queries_in_room_of(std::size_t keys, std::size_t key_bytes,
                               std::size_t query_bytes) {
  if (query_bytes <= key_bytes) {
    return keys;
  }
  const std::size_t fit = keys / query_bytes * key_bytes +
                          keys % query_bytes * key_bytes / query_bytes;
  return std::max(fit / kQueryBlock * kQueryBlock, kQueryBlock);
}

std::size_t source_of(std::span<const std::size_t> route, std::size_t rank) {
  return route[(place_in_route(route, rank) - 1) / kFanOut];
}

std::span<const std::size_t> targets_of(std::span<const std::size_t> route,
                                        std::size_t rank) {
  const std::size_t first =
      std::min(place_in_route(route, rank) * kFanOut + 1, route.size());
  return route.subspan(first, std::min(kFanOut, route.size() - first));
}

void RowsOfOthers::add_chunk(std::size_t owner, std::size_t rows) {
  own_[owner] += rows;
  longest_ = std::max(longest_, rows);
}

bool RowsOfOthers::arrive_first() const {
  const std::size_t all = std::reduce(own_.begin(), own_.end());
  return std::ranges::max(of_others_) <=
         std::max(2 * longest_, std::min(std::ranges::max(own_), all / 4));
}

Message name_of(const KeyChunk& chunk) {
  return message("keys {}", chunk_tokens(chunk));
}
Message name_of(const QueryChunk& chunk) {
  return message("queries {}", chunk_tokens(chunk));
}

}  // namespace headwise::inline HEADWISE_ABI
