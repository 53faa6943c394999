// Whole tensors of 16 bits as float32, and back: each element exactly, or
// rounded once (docs/arithmetic.md, "16-bit tensors"). For T = float nothing is
// copied.
#pragma once

#include <type_traits>
#include <utility>

#include "headwise/base/half.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"

// headwise::io calls these, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Errors: out_of_memory.
Result<Tensor<float, 3>> widen(TensorView<const BFloat16, 3> x,
                               const Executor& executor);
Result<Tensor<float, 3>> widen(TensorView<const Float16, 3> x,
                               const Executor& executor);
// x is in C order, and `to` has its extents.
void narrow_into(TensorView<const float, 3> x, TensorView<BFloat16, 3> to,
                 const Executor& executor);
void narrow_into(TensorView<const float, 3> x, TensorView<Float16, 3> to,
                 const Executor& executor);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop

namespace headwise::inline HEADWISE_ABI {

// A tensor of any type as float32: itself, or a copy.
class Widened {
 public:
  template <class T>
  static Result<Widened> create(TensorView<const T, 3> x,
                                const Executor& executor) {
    Widened made;
    if constexpr (std::is_same_v<T, float>) {
      made.view_ = x;
    } else {
      HEADWISE_ASSIGN(made.copy_, widen(x, executor));
      made.view_ = std::as_const(made.copy_).view();
    }
    return made;
  }
  TensorView<const float, 3> view() const { return view_; }

 private:
  Tensor<float, 3> copy_;
  TensorView<const float, 3> view_;
};

// The other way round. Errors: out_of_memory.
template <class T>
Result<Tensor<T, 3>> narrow(Tensor<float, 3> x, const Executor& executor) {
  if constexpr (std::is_same_v<T, float>) {
    return x;
  } else {
    HEADWISE_ASSIGN(auto narrowed, Tensor<T, 3>::create_unset(x.extents()));
    narrow_into(std::as_const(x).view(), narrowed.view(), executor);
    return narrowed;
  }
}

}  // namespace headwise::inline HEADWISE_ABI
