// A picture of every head of one sequence: one heat map per head, tokens on the
// axes, masked cells hatched, in one self-contained SVG file. Colours follow
// the square root of the attention weight, from 0 to 1. A cell's tooltip shows
// its tokens and its weight; in a picture of more than 20000 cells each head is
// an image instead.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"
#include "headwise/words/language.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct HeadsPicture {
  TensorView<const float, 3> attn_weights;  // (H, Lq, Lkv)
  // (H, Lq, Lkv), true = may attend; no view: nothing is masked.
  TensorView<const bool, 3> allowed{};
  std::vector<std::string> query_labels;  // Lq; any text is safe
  std::vector<std::string> key_labels;    // Lkv
  std::string title;
  std::size_t first_head = 0;  // number of the first head
  Language language = Language::en;
  // How much the SVG will be enlarged when it is converted to a bitmap: the
  // images in it get that resolution.
  double zoom = 1;
  // Colours end at the largest attention weight of the picture, not at 1.
  bool fit = false;
};

// With more keys than this, attention weights are so small that the colours of
// pictures and of the page end at the largest weight.
inline constexpr std::size_t kMostKeysOfFullScale = 256;

// Errors: shape_mismatch when the labels or `allowed` do not fit; out_of_range
// for more than kLargestPicture cells (four heads of 2048 x 2048) or
// kMostPictureHeads heads; invalid_argument for a zoom that is not above 0;
// unsupported for more than a million queries or keys; out_of_memory.
inline constexpr std::size_t kLargestPicture = std::size_t{1} << 24;
inline constexpr std::size_t kMostPictureHeads = 4096;
Result<std::string> heads_svg(const HeadsPicture& picture);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
