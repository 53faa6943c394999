// A picture of every head of one sequence: a heat map each, tokens on the axes,
// masked cells hatched, in one SVG file that needs nothing else.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/inspect/step_table.h"

namespace headwise {

struct HeadsPicture {
  TensorView<const float, 3> attn_weights;  // (H, Lq, Lkv)
  // (H, Lq, Lkv), true = may attend; no view: nothing is masked.
  TensorView<const bool, 3> allowed{};
  std::vector<std::string> query_labels;  // Lq; any text is safe
  std::vector<std::string> key_labels;    // Lkv
  std::string title;
  Language language = Language::en;
};

// Errors: shape_mismatch when the labels or `allowed` do not fit; out_of_range
// for more than kLargestPicture cells.
inline constexpr std::size_t kLargestPicture = 400000;
Result<std::string> heads_svg(const HeadsPicture& picture);

}  // namespace headwise
