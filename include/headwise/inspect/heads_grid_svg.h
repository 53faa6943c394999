// A picture of all heads of a model at once: a thumbnail of each head's
// attention weights, in one self-contained SVG file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"
#include "headwise/words/language.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct GridHead {
  std::size_t layer;
  std::size_t head;
  bool pruned;  // hatched; needs no map
  // (rows, columns) of 1 to kLargestMap: attention weights pooled into cells,
  // queries from top to bottom. NaN: every pair of the cell is masked.
  TensorView<const float, 2> map;
  std::string note;  // below the thumbnail, such as "previous 0.98"
};

struct HeadsGridPicture {
  std::span<const GridHead> heads;
  std::string title;
  std::string subtitle;  // may be empty
  Language language = Language::en;
  double zoom = 1;  // as in HeadsPicture
  // Each head's colours end at its own largest attention weight, not at 1, so
  // that small attention weights can be told apart.
  bool fit = false;
};

// Heads in order (by layer, then by head) form a grid: one line per layer, one
// column per head. In any other order they follow one another, each with its
// name above it.
//
// Colours follow the square root of the attention weight, as in HeadsPicture.
//
// Errors: invalid_argument if there are no heads or if the zoom is not above 0;
// out_of_range for a map that is empty or larger than kLargestMap;
// out_of_memory.
inline constexpr std::size_t kLargestMap = 64;
Result<std::string> heads_grid_svg(const HeadsGridPicture& picture);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
