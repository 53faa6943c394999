// How the numbers of a head are packed for the products of the call's
// arithmetic: as float32, or as pairs of bfloat16, each in the place of a float
// (kernels/pair_tile.h).
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"
#include "kernels/attention_tile.h"
#include "kernels/pair_tile.h"
#include "kernels/rows.h"
#include "kernels/tile_layout.h"

namespace headwise::inline HEADWISE_ABI {

// Additive scoring does not multiply queries by keys.
inline bool keys_in_pairs(const AttentionSpec& spec) {
  return spec.arithmetic == Arithmetic::bf16 && !spec.additive();
}
inline bool values_in_pairs(const AttentionSpec& spec) {
  return spec.arithmetic == Arithmetic::bf16;
}

// Floats in a packed key.
inline std::size_t packed_key_size(const AttentionSpec& spec) {
  return keys_in_pairs(spec) ? kernels::count_pairs(spec.shape.D)
                             : spec.shape.D;
}
// Floats in a packed row of a value, as the backward pass has it.
inline std::size_t packed_value_row(const AttentionSpec& spec) {
  return values_in_pairs(spec) ? kernels::count_pairs(spec.shape.Dv)
                               : spec.shape.Dv;
}
// Floats in the packed values of this number of keys.
inline std::size_t packed_values_size(const AttentionSpec& spec,
                                      std::size_t keys) {
  const std::size_t rows =
      values_in_pairs(spec) ? kernels::count_pairs(keys) : keys;
  return kernels::value_columns(spec.shape.Dv) / kernels::kValuePanel *
         kernels::value_panel_size(rows);
}

// k (count, D) -> keys (count, packed_key_size).
inline void pack_keys(const AttentionSpec& spec,
                      const kernels::NumberRows<const void>& k, float* keys) {
  const auto pack = keys_in_pairs(spec) ? kernels::pair_tile().pack_keys
                                        : kernels::tile_layout().pack_keys;
  pack(k, spec.shape.D, keys);
}
// v (count, Dv) -> panels. Returns whether every value is finite.
inline bool pack_values(const AttentionSpec& spec,
                        const kernels::NumberRows<const void>& v,
                        float* values) {
  const auto pack = values_in_pairs(spec) ? kernels::pair_tile().pack_values
                                          : kernels::tile_layout().pack_values;
  return pack(v, spec.shape.Dv, values);
}

}  // namespace headwise::inline HEADWISE_ABI
