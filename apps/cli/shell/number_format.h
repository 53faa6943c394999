// Numbers as PyTorch prints a tensor's: four digits behind the point, or
// scientific where the sizes differ by more than 1000, all of one width.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "headwise/inspect/trace.h"

namespace headwise::cli {

class NumberFormat {
 public:
  // The format that suits these values.
  NumberFormat(std::span<const double> values, DType dtype);

  std::string operator()(double value) const;

 private:
  std::string unpadded(double value) const;

  enum class Style { boolean, integer, whole, fixed, scientific };
  Style style_;
  std::size_t width_ = 1;
};

// The indices of an axis that are shown, all or, where `corners` cuts a long
// one, the first and the last; kGap stands for those left out.
inline constexpr std::size_t kGap = std::numeric_limits<std::size_t>::max();
std::vector<std::size_t> shown_indices(std::size_t extent, bool corners);

// The whole tensor, nested in brackets, or its corners where it is long:
// the first and last three of every axis that `corners` cuts.
std::string tensor_text(const TracedStep& step, bool corners,
                        const std::string& indent);

}  // namespace headwise::cli
