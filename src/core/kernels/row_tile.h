// The inner loops of attention for few queries, as in decoding: a few rows
// against one block of keys. The loops over the keys and values themselves are
// in kernels/stored_tile.h; these are the rest.
//
//   rows     a query of one head each, at most kRowsAtOnce at a time
//   q        (rows, D)          the queries, times scale * log2 e
//   keys     panels (D, width)  feature by feature, `width` keys side by side
//   scores   (rows, kKeyBlock)  in the log2 domain, then p = exp2(s - max)
//   values   rows of Dv features
//   context  (rows, Dv)         the weighted values
//   max, sum (rows)             of a block of keys
//
// Keys and values may have any StoredType; what is computed is float32. q,
// scores and panels are 64-byte aligned, and so is the memory of the rows.
// Nothing is checked or allocated.
#pragma once

#include <array>
#include <cstddef>

#include "headwise/version.h"
#include "kernels/attention_tile.h"
#include "kernels/rows.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// Rows that share one pass over keys and values: their chains fill the
// registers.
inline constexpr std::size_t kRowsAtOnce = 4;

// The elements of a row of memory for `size` elements: whole cache lines.
constexpr std::size_t whole_lines(std::size_t size) {
  return (size + 15) / 16 * 16;
}

// Bit k % 64 of word k / 64 says whether a row may attend to key k of a block.
using KeyWords = std::array<MaskWord, kKeyBlock / 64>;

struct RowTile {
  // to[n] = rows[n] times `factor`, in rows of whole_lines(columns).
  void (*pack_rows)(const NumberRows<const void>& rows, std::size_t columns,
                    float factor, float* to);
  // Keys (count, D) -> a float32 panel of panel_width(count). What is in the
  // lanes of other keys does not matter. `following`: the rows after these that
  // may be read ahead.
  void (*pack_panel)(const NumberRows<const void>& keys, std::size_t following,
                     std::size_t D, float* panel);
  // scores -> p, in place, for the first `count` keys; the block's max. A score
  // counts as -inf where the row's bit is 0 (null: no mask).
  void (*softmax)(std::size_t rows, std::size_t count, const KeyWords* allowed,
                  float* scores, float* max);
  // context = the rows' state folded with a block's context, both in rows of
  // whole_lines(Dv); max and sum are those of rows rounded up to whole_lines.
  // A block whose sum is 0 changes nothing. The state's max and sum follow.
  void (*fold)(std::size_t rows, std::size_t Dv, const Fold& fold,
               const float* block, float* context);
  // output (rows, Dv) = context / sum; every NaN is 0x7fc00000.
  void (*store)(const float* context, const float* sum, std::size_t Dv,
                const NumberRows<void>& output);
};

// The loops for the best instruction set of this processor, or the forced one.
const RowTile& row_tile();

}  // namespace headwise::inline HEADWISE_ABI::kernels
