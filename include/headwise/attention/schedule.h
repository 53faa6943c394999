// How the work of a call is cut and how many take part. It decides time and
// memory, never bits.
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct Schedule {
  enum class Split {
    key_heads,      // a task is a key head, packed by who takes it
    tiles,          // few key heads: all are packed first, a task is some tiles
    tiles_of_heads  // a task is a tile of every head in turn: their mean
  };
  Split split;
  std::size_t workers;
  std::size_t tiles_at_once;  // that read a block of keys while it is near
};

Schedule schedule_of(const AttentionSpec& spec);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
