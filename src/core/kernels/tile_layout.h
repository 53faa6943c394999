// Converts between the caller's rows and a tile's lanes: transposes before and
// after the inner loops (attention_tile.h). Contiguous rows are transposed in
// registers, others element by element; the numbers are the same. 16-bit
// numbers are widened on the way in and narrowed, to nearest even, on the way
// out: everything packed is float32.
//
// Everything packed is 64-byte aligned. Nothing is checked or allocated.
#pragma once

#include <cstddef>

#include "headwise/version.h"
#include "kernels/attention_tile.h"
#include "kernels/rows.h"

namespace headwise::inline HEADWISE_ABI::kernels {

struct TileLayout {
  // q (count, D) -> q_t (D, lanes), every element times `factor`. Unused lanes
  // repeat the last row.
  void (*pack_queries)(const NumberRows<const void>& q, std::size_t D,
                       float factor, std::size_t lanes, float* q_t);
  // k (count, D) -> contiguous rows.
  void (*pack_keys)(const NumberRows<const void>& k, std::size_t D,
                    float* keys);
  // x (count, columns) -> rows of `size` floats, zeros beyond the columns.
  // Returns whether every element is finite.
  bool (*pack_rows)(const NumberRows<const void>& x, std::size_t columns,
                    std::size_t size, float* rows);
  // v (count, Dv) -> panels (count, 8), value_panel_size(count) apart, zeros
  // beyond Dv. Returns whether every value is finite.
  bool (*pack_values)(const NumberRows<const void>& v, std::size_t Dv,
                      float* values);
  // output (count, Dv) = context / sum; every NaN is 0x7fc00000, also below.
  void (*store)(const float* context, const float* sum, std::size_t Dv,
                std::size_t lanes, const NumberRows<void>& output);
  // rows (count, columns) = tile (columns, lanes) times factor.
  void (*store_scaled)(const float* tile, float factor, std::size_t columns,
                       std::size_t lanes, const NumberRows<void>& rows);
  // to (count, columns) = rows of `size` floats times factor.
  void (*store_rows)(const float* rows, float factor, std::size_t columns,
                     std::size_t size, const NumberRows<void>& to);
  // attn_weights (count, keys) = p * exp2(block max - M) / sum, +0 where the
  // mask's bit is 0 (null: no mask).
  void (*store_weights)(const float* p, const MaskWord* allowed,
                        const float* block_max, const RowState& state,
                        std::size_t keys, std::size_t lanes,
                        const Rows<float>& attn_weights);
  // The same with stores that bypass the caches, for tensors that do not fit in
  // them: attn_weights are 64-byte aligned, with whole lines of contiguous
  // keys.
  void (*stream_weights)(const float* p, const MaskWord* allowed,
                         const float* block_max, const RowState& state,
                         std::size_t keys, std::size_t lanes,
                         const Rows<float>& attn_weights);
};

// The functions for the best instruction set of this processor, or the forced
// one.
const TileLayout& tile_layout();

}  // namespace headwise::inline HEADWISE_ABI::kernels
