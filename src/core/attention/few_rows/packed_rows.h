// Query rows as the loops for few queries read them (kernels/stored_tile.h), in
// the call's arithmetic.
#pragma once

#include <cstddef>

#include "attention/log2_domain.h"
#include "attention/packed_numbers.h"
#include "headwise/attention/spec.h"
#include "kernels/row_tile.h"
#include "kernels/rows.h"
#include "kernels/stored_pairs.h"
#include "kernels/stored_tile.h"

namespace headwise::inline HEADWISE_ABI {

// The loops for keys and values that are stored so.
inline const kernels::StoredTile& stored_loops(const AttentionSpec& spec,
                                               kernels::StoredType type) {
  return keys_in_pairs(spec) ? kernels::stored_pairs(type)
                             : kernels::stored_tile(type);
}

// Floats from a packed query to the next.
inline std::size_t packed_row_size(const AttentionSpec& spec) {
  return kernels::whole_lines(packed_key_size(spec));
}

// Exact queries are packed times scale * log2 e. The factor of pairs comes
// after their chain.
inline float score_factor(const AttentionSpec& spec) {
  return keys_in_pairs(spec) ? times_log2e(spec.scale) : 1;
}
inline void pack_query_rows(const AttentionSpec& spec,
                            const kernels::NumberRows<const void>& rows,
                            float* to) {
  const std::size_t D = spec.shape.D;
  if (!keys_in_pairs(spec)) {
    kernels::row_tile().pack_rows(rows, D, times_log2e(spec.scale), to);
    return;
  }
  for (std::size_t n = 0; n < rows.count; ++n) {
    kernels::pair_tile().pack_keys(rows.part(n, 1), D,
                                   to + n * packed_row_size(spec));
  }
}

}  // namespace headwise::inline HEADWISE_ABI
