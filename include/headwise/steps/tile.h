// A piece of the scores that is computed at once: the queries
// [first_query, first_query + queries) of head h of sequence b against the keys
// [first_key, first_key + keys).
#pragma once

#include <cstddef>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct Tile {
  std::size_t b;
  std::size_t h;
  std::size_t first_query;
  std::size_t queries;  // at most 64
  std::size_t first_key;
  std::size_t keys;  // at most 128
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
