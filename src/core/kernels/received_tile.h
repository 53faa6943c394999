// The inner loop of received attention: what some rows give to the keys of a
// block is added to their sums, one key a lane (docs/arithmetic.md, "Received
// attention"). Scores and p are those of kernels/row_tile.h. Nothing is checked
// or allocated.
#pragma once

#include <cstddef>

#include "headwise/version.h"
#include "kernels/row_tile.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// Rows of one head against a block of keys: their p in the block and its
// maximum, and M and sum of the whole rows. A row whose sum is 0 gives nothing.
struct ReceivedRows {
  const float* p;           // (count, kKeyBlock), 64-byte aligned
  const float* block_max;   // (kRowsAtOnce)
  const float* max;         // (kRowsAtOnce)
  const float* sum;         // (kRowsAtOnce)
  const KeyWords* allowed;  // (count); null: every row sees every key
  std::size_t count;
};

struct ReceivedTile {
  // received[k] += p[k] * exp2(block_max - max) / sum for the first `keys`
  // keys, row after row, by select only where the row's bit is 1. What is in
  // `received` up to whole_lines(keys) may change; it is 64-byte aligned.
  void (*add)(const ReceivedRows& rows, std::size_t keys, float* received);
};

// The loops for the best instruction set of this processor, or the forced one.
const ReceivedTile& received_tile();

}  // namespace headwise::inline HEADWISE_ABI::kernels
