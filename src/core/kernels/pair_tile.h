// The products of attention over a tile (attention_tile.h, gradient_tile.h) in
// bfloat16: pairs of numbers in the place of each float (pairs-inl.h).
//
//   q_t       (D', lanes)     D' = count_pairs(D); the last pair of an odd
//   keys      (keys, D')      number ends in 0
//   p         (keys', lanes)  the pairs of two keys one after the other
//   values    panels (keys', 8)
//
// Everything is 64-byte aligned. Nothing is checked or allocated.
#pragma once

#include <cstddef>

#include "headwise/version.h"
#include "kernels/attention_tile.h"
#include "kernels/gradient_tile.h"
#include "kernels/rows.h"

namespace headwise::inline HEADWISE_ABI::kernels {

constexpr std::size_t count_pairs(std::size_t numbers) {
  return (numbers + 1) / 2;
}

struct PairTile {
  // pairs (count', lanes) = rows (count, lanes), rounded; lanes is a multiple
  // of a vector.
  void (*pair_rows)(const float* rows, std::size_t count, std::size_t lanes,
                    float* pairs);
  // The softmax of AttentionTile, and pair_rows() of its p, in the place of the
  // scores.
  decltype(AttentionTile::softmax) softmax;
  // Whether every number of `count` pairs, a multiple of 16, is finite.
  bool (*finite)(const float* pairs, std::size_t count);
  // k (count, D) -> keys (count, D').
  void (*pack_keys)(const NumberRows<const void>& k, std::size_t D,
                    float* keys);
  // v (count, Dv) -> panels (count', 8), value_panel_size(count') apart, zeros
  // beyond Dv. Returns whether every value is finite once it is rounded.
  bool (*pack_values)(const NumberRows<const void>& v, std::size_t Dv,
                      float* values);
  // scores[k] = factor * the chain over D of q_t and the key.
  void (*score)(const float* q_t, const float* keys, std::size_t count,
                std::size_t D, std::size_t queries, float factor,
                float* scores);
  // As in AttentionTile, of `rows` keys the first `count`.
  decltype(AttentionTile::weigh) weigh;
  // The same, but a value is read only where the mask's bit is 1. `allowed` has
  // a word of every number of the pairs.
  decltype(AttentionTile::weigh_allowed) weigh_allowed;
  // As in GradientTile, with d_scores in pairs of keys.
  decltype(GradientTile::add_keys) add_keys;
  // As in GradientTile: p (keys, lanes) and rows are pairs of queries, those of
  // each part in pairs of their own; `taken` has a bit of every query.
  decltype(GradientTile::add_queries) add_queries;
};

// The loops for the best instruction set of this processor, or the forced one.
const PairTile& pair_tile();

}  // namespace headwise::inline HEADWISE_ABI::kernels
