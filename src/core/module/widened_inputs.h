// The inputs of a layer's call as float32: the layer computes in float32,
// whatever its inputs are.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "headwise/base/result.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "module/layer_moves.h"
#include "steps/widen.h"

namespace headwise::inline HEADWISE_ABI {

class WidenedInputs {
 public:
  // Inputs that are one tensor are widened once and stay one tensor, as they
  // are then projected in one pass. Errors: out_of_memory.
  template <class T>
  static Result<WidenedInputs> create(const LayerInputsOf<T>& inputs,
                                      const Executor& executor) {
    WidenedInputs made;
    const std::array all = {inputs.query, inputs.key, inputs.value};
    for (std::size_t n = 0; n < all.size(); ++n) {
      made.place_[n] = n;
      for (std::size_t earlier = n; earlier-- > 0;) {
        if (are_one(all[earlier], all[n])) {
          made.place_[n] = earlier;
        }
      }
      if (made.place_[n] == n) {
        HEADWISE_ASSIGN(made.tensors_[n], Widened::create(all[n], executor));
      }
    }
    return made;
  }

  LayerInputs views() const {
    return {tensors_[place_[0]].view(), tensors_[place_[1]].view(),
            tensors_[place_[2]].view()};
  }

 private:
  template <class T>
  static bool are_one(const TensorView<const T, 3>& a,
                      const TensorView<const T, 3>& b) {
    return a.data() == b.data() && a.extents() == b.extents() &&
           a.strides() == b.strides();
  }

  std::array<Widened, 3> tensors_;
  std::array<std::size_t, 3> place_{};  // where each input is
};

// The gradients of the inputs in the type of the inputs.
template <class T>
Result<MultiHeadAttentionGradientsOf<T>> narrow_gradients(
    MultiHeadAttentionGradients gradients, const Executor& executor) {
  HEADWISE_ASSIGN(auto query, narrow<T>(std::move(gradients.query), executor));
  HEADWISE_ASSIGN(auto key, narrow<T>(std::move(gradients.key), executor));
  HEADWISE_ASSIGN(auto value, narrow<T>(std::move(gradients.value), executor));
  MultiHeadAttentionParamGradients& of_params = gradients;
  return MultiHeadAttentionGradientsOf<T>{
      std::move(of_params), std::move(query), std::move(key), std::move(value)};
}

}  // namespace headwise::inline HEADWISE_ABI
