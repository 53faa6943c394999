// What one worker computes tiles of queries in, against the keys of a cache.
#pragma once

#include <cstddef>
#include <span>

#include "attention/forward/packed_head.h"
#include "attention/forward/query_tile.h"
#include "decode/decode_call.h"
#include "decode/stored_head.h"

namespace headwise::inline HEADWISE_ABI {

struct TileWorker {
  TileWorker(const AttentionSpec& spec, const KvCacheOptions& options,
             Arena& arena)
      : heads(make_array<PackedHead>(arena, 1, spec, kernels::kKeyBlock)),
        stored(StoredHead::take_memory(spec, options, arena)),
        scores(make_array<BlockScores>(arena, 1, spec)),
        tiles(make_array<QueryTile>(arena, tiles_at_once(spec), spec,
                                    scores.data())) {}

  // Tiles that read a block of keys once it is packed.
  static std::size_t tiles_at_once(const AttentionSpec& spec) {
    constexpr std::size_t kTilesAtOnce = 8;
    return BlockScores::kept(spec) ? 1 : kTilesAtOnce;
  }

  // Calls body(head) with key head g of sequence b.
  template <class Body>
  void with_head(const DecodeCall& call, std::size_t b, std::size_t g,
                 const Body& body) const {
    const StoredHead rows(call.spec, call.cache, call.ids[b].slot,
                          call.first_head + g, stored);
    heads.front().pack_blocks_of(call.spec, rows, b);
    body(heads.front());
  }

  std::span<PackedHead> heads;
  StoredHead::Memory stored;
  std::span<BlockScores> scores;
  std::span<QueryTile> tiles;
};

}  // namespace headwise::inline HEADWISE_ABI
