// A piece of the scores that is computed at once: the queries
// [first_query, first_query + queries) of head h of sequence b against the keys
// [first_key, first_key + keys).
#pragma once

#include <cstddef>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// The most keys of a tile: those of one block.
inline constexpr std::size_t kTileKeys = 128;

struct Tile {
  std::size_t b;
  std::size_t h;
  std::size_t first_query;
  std::size_t queries;  // at most 64
  std::size_t first_key;
  std::size_t keys;  // at most kTileKeys
};

// What a mask says of a tile.
enum class TileKind {
  empty,    // no query may attend to any key: the tile is skipped
  full,     // every query may attend to every key: nothing to test
  partial,  // the mask's words say which pairs are allowed
};

constexpr TileKind tile_kind(bool full, bool empty) {
  return full ? TileKind::full : empty ? TileKind::empty : TileKind::partial;
}

}  // namespace headwise::inline HEADWISE_ABI
