// The attention weights of a ragged batch have the shape of a padded one.
#pragma once

#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI {

// Sets what belongs to no query or to no key of its sequence to 0.
template <class T>
void clear_beyond_sequences(const AttentionShape& shape,
                            TensorView<T, 4> attn_weights) {
  const auto [B, heads, Lq, Lkv] = attn_weights.extents();
  for (std::size_t b = 0; b < B; ++b) {
    const SequencePlace place = shape.sequence(b);
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t i = 0; i < Lq; ++i) {
        for (std::size_t j = i < place.Lq ? place.Lkv : 0; j < Lkv; ++j) {
          attn_weights(b, h, i, j) = 0;
        }
      }
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI
