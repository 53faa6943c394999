// Gates of heads from rows of doubles, a row for each layer.
#pragma once

#include <algorithm>
#include <vector>

#include "headwise/base/tensor.h"

namespace headwise::testing_support {

inline std::vector<Tensor<float, 1>> gates_of(
    const std::vector<std::vector<double>>& rows) {
  std::vector<Tensor<float, 1>> gates;
  for (const auto& row : rows) {
    gates.push_back(Tensor<float, 1>::create({row.size()}).value());
    std::ranges::transform(row, gates.back().data(),
                           [](double x) { return static_cast<float>(x); });
  }
  return gates;
}

}  // namespace headwise::testing_support
