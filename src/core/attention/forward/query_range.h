// The queries of a tile, and their rows of a tensor over all pairs.
#pragma once

#include <cstddef>

#include "headwise/base/tensor_view.h"
#include "headwise/version.h"
#include "kernels/tile_layout.h"

namespace headwise::inline HEADWISE_ABI {

// The queries [first, first + count) of head h of sequence b.
struct QueryRange {
  std::size_t b;
  std::size_t h;
  std::size_t first;
  std::size_t count;
};

// Of pairs (B, Hq, Lq, Lkv); no data where there are none.
inline kernels::Rows<float> rows_of(const TensorView<float, 4>& pairs,
                                    const QueryRange& range) {
  if (pairs.extent(3) == 0 || range.count == 0) {
    return {};
  }
  return {&pairs(range.b, range.h, range.first, 0), range.count,
          pairs.stride(2), pairs.stride(3)};
}

}  // namespace headwise::inline HEADWISE_ABI
