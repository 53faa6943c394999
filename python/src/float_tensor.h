// A tensor of heads (B, L, H, D), or (L, H, D) as a batch of one, as float:
// for what the library computes in float32 only. 16-bit elements are widened.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "array_argument.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"

namespace headwise::python {

class FloatTensor {
 public:
  // `axes` are those of a batch, such as "(B, Lq, Hq, D)". Errors: those of
  // ArrayArgument; MemoryError.
  FloatTensor(nb::handle array, ArgumentName name, std::string_view axes);

  TensorView<const float, 4> view() const { return view_; }

 private:
  ArrayArgument array_;
  Tensor<float, 4> widened_;
  TensorView<const float, 4> view_;
};

}  // namespace headwise::python
