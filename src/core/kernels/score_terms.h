// The inner loops that change a tile's scores between q.k and the mask:
// softcap, dense bias, T5's bias, ALiBi, in that order (docs/arithmetic.md).
// Scores have the layout of kernels/attention_tile.h: (keys, lanes), one query
// per lane, in the log2 domain. Unused lanes are written too; their contents do
// not matter.
//
// Scores are 64-byte aligned. Nothing is checked or allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/version.h"
#include "kernels/attention_tile.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// A tile's biases in the caller's memory: that of query n and key k is at n *
// query_stride + k * key_stride. A stride of 0: the same for all.
struct BiasTile {
  const float* data;
  std::ptrdiff_t query_stride;
  std::ptrdiff_t key_stride;
  std::size_t queries;  // at least 1; at most 64 where there are words
  std::size_t keys;
};

// The diagonals of a tile: query n and key k are on diagonal n + keys - 1 - k,
// so that a later one has earlier keys.
inline constexpr std::size_t kMostDiagonals = kKeyBlock + kMaxQueryLanes;

struct ScoreTerms {
  // scores = cap * tanh(scores / cap); cap is softcap * log2 e.
  void (*softcap)(float cap, std::size_t keys, std::size_t lanes,
                  float* scores);
  // The same, and slope = 1 - tanh^2, the derivative of the new scores with
  // respect to the old ones.
  void (*softcap_with_slope)(float cap, std::size_t keys, std::size_t lanes,
                             float* scores, float* slope);
  // scores = fma(bias, log2 e, scores); `lanes` is the number of queries,
  // rounded up to whole vectors.
  void (*add_bias)(const BiasTile& bias, std::size_t lanes, float* scores);
  // to = fma(the bias of their key, log2 e, scores); may be in place.
  void (*add_key_bias)(const float* bias, std::size_t keys, std::size_t lanes,
                       const float* scores, float* to);
  // scores = fma(the bias of their diagonal, log2 e, scores); `diagonals` has
  // keys + lanes - 1 of them.
  void (*add_diagonals)(const float* diagonals, std::size_t keys,
                        std::size_t lanes, float* scores);
  // scores = fma(slope, -distance, scores), where the distance of query n and
  // key k is |offset + n - k|; slope is a head's slope times log2 e.
  void (*add_alibi)(float slope, std::int64_t offset, std::size_t keys,
                    std::size_t lanes, float* scores);
  // Adds each score to the sum of its diagonal, in the order of the keys.
  // `diagonals` has keys + lanes - 1 of them; scores of unused lanes, from
  // `queries` on, are left out.
  void (*sum_diagonals)(const float* scores, std::size_t keys,
                        std::size_t queries, std::size_t lanes,
                        float* diagonals);

  // Returns how many of the tile's biases are -inf.
  std::size_t (*count_minus_inf)(const BiasTile& bias);
  // Clears bit n of allowed[k] where query n's bias of key k is -inf.
  void (*clear_minus_inf)(const BiasTile& bias, MaskWord* allowed);
};

// The loops for the best instruction set of this processor, or the forced one.
const ScoreTerms& score_terms();

}  // namespace headwise::inline HEADWISE_ABI::kernels
