// The inner loops of attention for few queries over keys and values as they are
// stored (kernels/stored_rows.h): the scores and the weighted values of a few
// rows. kernels/row_tile.h says what rows, q, scores and context are.
//
// The lanes are keys for the scores and features for the values, so that a
// single query fills whole vectors. Every sum is the same chain as in
// kernels/attention_tile.h: the same bits (docs/arithmetic.md).
#pragma once

#include <cstddef>

#include "headwise/version.h"
#include "kernels/row_tile.h"
#include "kernels/stored_rows.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// Loops that depend on how keys and values are stored.
struct StoredTile {
  // scores[r][k] = factor * the chain over D of q[r] and key k of the panel; q
  // has rows of whole_lines(D).
  void (*score)(const float* q, std::size_t rows, const KeyPanel& panel,
                std::size_t D, float factor, float* scores);
  // context[r] = chain over the keys of p[r] and the values, in rows of
  // whole_lines(Dv), and sum[r] = the sum of p[r], both in key order through
  // all parts. `near`: other rows have just read these values, which makes
  // another order of the work faster.
  void (*weigh)(const float* p, std::size_t rows, const ValueRows* parts,
                std::size_t part_count, std::size_t Dv, bool near, float* sum,
                float* context);
  // The same for one row, but a value is read only where the key's bit is 1.
  void (*weigh_allowed)(const float* p, const KeyWords& allowed,
                        const ValueRows* parts, std::size_t part_count,
                        std::size_t Dv, float* sum, float* context);
  // Whether every value is finite.
  bool (*all_finite)(const ValueRows& values, std::size_t Dv);
};

// The loops for the best instruction set of this processor, or the forced one.
const StoredTile& stored_tile(StoredType type);

}  // namespace headwise::inline HEADWISE_ABI::kernels
