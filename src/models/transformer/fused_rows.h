// Where the rows of w_q, w_k and w_v lie in a tensor that has all three, and
// where those of a head lie whose rotated pairs are side by side.
#pragma once

#include <cstddef>

#include "headwise/version.h"
#include "transformer/description.h"

namespace headwise::inline HEADWISE_ABI::transformer {

// The row of row `n` of w_q, w_k or w_v.
inline std::size_t fused_row(Form form, Part part, std::size_t n,
                             const HeadsSpec& heads) {
  const std::size_t D = heads.head_dim;
  const std::size_t queries = heads.num_heads / heads.num_kv_heads;
  if (form != Form::qkv_by_group) {
    const std::size_t before_k = part == Part::w_q ? 0 : heads.num_heads * D;
    return n + before_k + (part == Part::w_v ? heads.num_kv_heads * D : 0);
  }
  const std::size_t head = n / D;
  const std::size_t group = part == Part::w_q ? head / queries : head;
  const std::size_t place = part == Part::w_q   ? head % queries
                            : part == Part::w_k ? queries
                                                : queries + 1;
  return (group * (queries + 2) + place) * D + n % D;
}

// The row of row `n`: both features of a pair are side by side.
inline std::size_t paired_row(std::size_t n, std::size_t head_dim) {
  const std::size_t feature = n % head_dim;
  const std::size_t pairs = head_dim / 2;
  return n - feature +
         (feature < pairs ? 2 * feature : 2 * (feature - pairs) + 1);
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
