// Where the numbers of a cell are: the keys and values of one page and one key
// head, in the form that the kernels read (kernels/stored_rows.h).
//
//   keys     panels (D, panel_width) of the page's tokens
//   values   rows of Dv numbers
//   scales   int8 only: of the keys, then of the values, one float per token
//
// If values are the keys' first features, there are only keys, as rows of D
// numbers. Every part begins on a 64-byte boundary.
#pragma once

#include <algorithm>
#include <cstddef>

#include "headwise/decode/kv_cache.h"
#include "kernels/stored_rows.h"

namespace headwise::inline HEADWISE_ABI {

inline kernels::StoredType stored_type(DType dtype) {
  switch (dtype) {
    case DType::bfloat16:
      return kernels::StoredType::bfloat16;
    case DType::float16:
      return kernels::StoredType::float16;
    case DType::int8:
      return kernels::StoredType::int8;
    default:
      return kernels::StoredType::float32;
  }
}

struct CellLayout {
  // The sizes are those of a cache that was created: they do not overflow.
  explicit CellLayout(const KvCacheOptions& options, std::size_t tokens)
      : type(stored_type(options.dtype)),
        D(options.head_dim),
        Dv(options.v_head_dim),
        page_size(tokens),
        panel_width(std::min(tokens, kernels::kPanelKeys)),
        keys_as_rows(options.value_is_key_prefix) {
    const std::size_t number = kernels::size_of(type);
    panel_bytes = whole_lines(panel_width * D * number);
    const std::size_t keys = keys_as_rows
                                 ? whole_lines(page_size * D * number)
                                 : page_size / panel_width * panel_bytes;
    values = keys;
    key_scales =
        values + (keys_as_rows ? 0 : whole_lines(page_size * Dv * number));
    const std::size_t scales = type == kernels::StoredType::int8
                                   ? whole_lines(page_size * sizeof(float))
                                   : 0;
    value_scales = key_scales + scales;
    bytes = value_scales + (keys_as_rows ? 0 : scales);
  }

  static constexpr std::size_t whole_lines(std::size_t bytes) {
    constexpr std::size_t kLine = 64;
    return (bytes + kLine - 1) / kLine * kLine;
  }

  kernels::StoredType type;
  std::size_t D;
  std::size_t Dv;
  std::size_t page_size;
  std::size_t panel_width;
  bool keys_as_rows;
  std::size_t panel_bytes;
  // Where the parts begin in a cell.
  std::size_t values;
  std::size_t key_scales;
  std::size_t value_scales;
  std::size_t bytes;  // of a cell
};

}  // namespace headwise::inline HEADWISE_ABI
