// The axes of PyTorch's layer, which may have the sequence before the batch.
#pragma once

#include <algorithm>

#include "golden/golden_case.h"
#include "headwise/base/tensor.h"
#include "support/tensors.h"

namespace headwise::testing_support {

// (L, B, E) as (B, L, E), unless the case has the batch first.
inline TensorView<const float, 3> batch_first(const GoldenCase& golden,
                                              const Tensor<float, 3>& x) {
  if (golden.options().at("batch_first")) {
    return x.view();
  }
  const TensorView<const float, 3> view = x.view();
  return {x.data(),
          {view.extent(1), view.extent(0), view.extent(2)},
          {view.stride(1), view.stride(0), view.stride(2)}};
}
// The reverse of what the layer gives.
inline Tensor<float, 3> as_in_case(const GoldenCase& golden,
                                   const Tensor<float, 3>& x) {
  const auto [B, L, E] = x.extents();
  if (golden.options().at("batch_first")) {
    return clone(x);
  }
  auto turned = Tensor<float, 3>::create({L, B, E}).value();
  for (std::size_t n = 0; n < B * L; ++n) {
    std::copy_n(&x(n / L, n % L, 0), E, &turned(n % L, n / L, 0));
  }
  return turned;
}

}  // namespace headwise::testing_support
