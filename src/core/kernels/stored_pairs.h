// The loops of kernels/stored_tile.h in bfloat16: numbers are multiplied in
// pairs (kernels/pair_tile.h). What is stored is widened exactly, then rounded;
// bfloat16 numbers are read as they are.
//
//   q   rows of whole_lines(count_pairs(D)) pairs
//   p   float32; its sum is that of the numbers before they are rounded
//
// Of several parts of values only the last may have an odd number of keys. A
// value is finite if it is once it is rounded.
#pragma once

#include "headwise/version.h"
#include "kernels/pair_tile.h"
#include "kernels/stored_tile.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// The loops for the best instruction set of this processor, or the forced one.
const StoredTile& stored_pairs(StoredType type);
// Those of float32 values and of panels (count_pairs(D), width) of pairs.
const StoredTile& panels_of_pairs();

}  // namespace headwise::inline HEADWISE_ABI::kernels
