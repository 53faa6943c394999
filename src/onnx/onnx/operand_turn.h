// How FusedMatMul (com.microsoft) turns an operand before the product.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

struct OperandTurn {
  bool matrix = false;  // the last two axes change places
  bool batch = false;   // before that, the first axis goes behind the batch

  bool operator==(const OperandTurn&) const = default;

  // The axes of an operand, in the order in which the product takes them.
  std::vector<std::size_t> order(std::size_t rank) const {
    std::vector<std::size_t> axes(rank);
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    if (batch && rank > 2) {
      std::rotate(axes.begin(), axes.begin() + 1, axes.end() - 1);
    }
    if (matrix && rank > 1) {
      std::swap(axes[rank - 2], axes[rank - 1]);
    }
    return axes;
  }
};

}  // namespace headwise::inline HEADWISE_ABI
