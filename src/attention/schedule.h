// How the work of a call is divided among how many workers. It decides time
// and memory, never bits.
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI {

struct Schedule {
  enum class Split {
    key_heads,      // a task packs and runs one key head
    tiles,          // few key heads: all are packed first, a task is some tiles
    tiles_of_heads  // a task is a tile of every head in turn: their mean
  };
  Split split;
  std::size_t workers;
  std::size_t tiles_at_once;  // read a block of keys while it is in the cache
};

Schedule schedule_of(const AttentionSpec& spec);

}  // namespace headwise::inline HEADWISE_ABI
