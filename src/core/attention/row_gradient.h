// Which rows a loss depends on. The backward pass leaves out the rest, so that
// a padded query changes no gradient, whatever it holds.
#pragma once

#include <cstddef>

#include "headwise/attention/backward.h"
#include "headwise/base/half.h"

namespace headwise::inline HEADWISE_ABI {

template <class T>
bool is_zero(T x) {
  if constexpr (sizeof(T) < sizeof(float)) {
    return widened(x) == 0;
  } else {
    return x == 0;
  }
}

// Whether row i of head h of sequence b has a gradient other than 0: that of
// its output, or of a returned attention weight of a key that it may attend to:
// to added keys it always may.
template <class T, class Sum>
bool has_gradient(const AttentionSpec& spec,
                  const TensorView<const T, 4>& d_output,
                  const TensorView<const Sum, 4>& d_attn_weights, std::size_t b,
                  std::size_t h, std::size_t i) {
  const SequencePlace place = spec.shape.sequence(b);
  for (std::size_t c = 0; c < spec.shape.Dv; ++c) {
    const T x = d_output(place.batch, place.first_query + i, h, c);
    if (!is_zero(x)) {
      return true;
    }
  }
  if (d_attn_weights.data() == nullptr) {
    return false;
  }
  const std::size_t head = spec.attn_weights == AttnWeights::mean ? 0 : h;
  for (std::size_t j = spec.shape.Lkv; j < spec.pair_columns(); ++j) {
    if (d_attn_weights(b, head, i, j) != 0) {
      return true;
    }
  }
  for (std::size_t j = 0; j < place.Lkv; ++j) {
    if (d_attn_weights(b, head, i, j) != 0 &&
        spec.mask.may_attend(b, h, i, j)) {
      return true;
    }
  }
  return false;
}

}  // namespace headwise::inline HEADWISE_ABI
