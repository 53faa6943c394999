// Between the caller's rows and a tile's lanes: the transposes on the way into
// the inner loops (attention_tile.h) and out of them. Rows whose elements lie
// side by side are turned round in registers, others element by element; the
// numbers are the same.
//
// Everything packed is 64-byte aligned. Nothing is checked, nothing allocated.
#pragma once

#include <cstddef>

#include "headwise/version.h"
#include "kernels/attention_tile.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// Rows of the caller's memory, strides in elements.
template <class T>
struct Rows {
  T* data;
  std::size_t count;
  std::ptrdiff_t row_stride;
  std::ptrdiff_t stride;  // within a row

  T* row(std::size_t n) const {
    return data + static_cast<std::ptrdiff_t>(n) * row_stride;
  }
  T& at(std::size_t n, std::size_t column) const {
    return row(n)[static_cast<std::ptrdiff_t>(column) * stride];
  }
};

struct TileLayout {
  // q (count, D) -> q_t (D, lanes), every element times `factor`. Dead lanes
  // repeat the last row.
  void (*pack_queries)(const Rows<const float>& q, std::size_t D, float factor,
                       std::size_t lanes, float* q_t);
  // k (count, D) -> rows side by side.
  void (*pack_keys)(const Rows<const float>& k, std::size_t D, float* keys);
  // x (count, columns) -> rows of `size` floats, zeros beyond the columns.
  // Whether every element is finite.
  bool (*pack_rows)(const Rows<const float>& x, std::size_t columns,
                    std::size_t size, float* rows);
  // v (count, Dv) -> panels (count, 8), value_panel_size(count) apart, zeros
  // beyond Dv. Whether every value is finite.
  bool (*pack_values)(const Rows<const float>& v, std::size_t Dv,
                      float* values);
  // output (count, Dv) = context / sum, NaN as 0x7fc00000.
  void (*store)(const float* context, const float* sum, std::size_t Dv,
                std::size_t lanes, const Rows<float>& output);
  // rows (count, columns) = tile (columns, lanes) times factor, NaN likewise.
  void (*store_scaled)(const float* tile, float factor, std::size_t columns,
                       std::size_t lanes, const Rows<float>& rows);
  // to (count, columns) = rows of `size` floats times factor, NaN likewise.
  void (*store_rows)(const float* rows, float factor, std::size_t columns,
                     std::size_t size, const Rows<float>& to);
  // attn_weights (count, keys) = p * exp2(block max - M) / sum, +0 where the
  // mask's bit is 0 (no mask: null), NaN as 0x7fc00000.
  void (*store_weights)(const float* p, const MaskWord* allowed,
                        const float* block_max, const RowState& state,
                        std::size_t keys, std::size_t lanes,
                        const Rows<float>& attn_weights);
  // The same past the caches, for tensors that they do not hold: attn_weights
  // lie on 64-byte boundaries, whole lines of keys side by side.
  void (*stream_weights)(const float* p, const MaskWord* allowed,
                         const float* block_max, const RowState& state,
                         std::size_t keys, std::size_t lanes,
                         const Rows<float>& attn_weights);
};

// The layout of the best instruction set of this processor, or of the forced
// one.
const TileLayout& tile_layout();

}  // namespace headwise::inline HEADWISE_ABI::kernels
