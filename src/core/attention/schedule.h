// How the work of a call is divided among how many workers. It decides time
// and memory, never bits.
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI {

struct Schedule {
  enum class Split {
    key_heads,  // a task packs and runs one key head
    tiles,      // few key heads: all are packed first, a task is some tiles
    tiles_of_heads,  // a task is a tile of every head in turn: their mean
    rows_of_heads,   // few queries: a task is one key head's rows
    rows_of_blocks   // and few key heads: a task is some blocks of keys
  };
  Split split = Split::key_heads;
  std::size_t workers = 1;
  // That read a block of keys while it is in the cache.
  std::size_t tiles_at_once = 1;
  // Of each head, those whose results are kept before they are folded.
  std::size_t blocks_at_once = 0;

  // Whether the call has few queries, which read keys that are not packed.
  bool few_rows() const {
    return split == Split::rows_of_heads || split == Split::rows_of_blocks;
  }
};

// Up to this number of queries their rows read the keys as they are; for more
// queries it pays to pack them.
inline constexpr std::size_t kFewQueries = 16;
// Whether rows may serve the call: it has no option that only tiles have.
bool rows_serve(const AttentionSpec& spec);

Schedule schedule_of(const AttentionSpec& spec);
// That of the sequences with few queries, and its two forms.
Schedule schedule_of_rows(const AttentionSpec& spec);
Schedule schedule_of_heads(std::size_t workers);
Schedule schedule_of_blocks(const AttentionSpec& spec, std::size_t workers);

}  // namespace headwise::inline HEADWISE_ABI
