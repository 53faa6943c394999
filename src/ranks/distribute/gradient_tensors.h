// Memory for the gradients of a call. Those that nobody wants have no elements.
#pragma once

#include <cstddef>

#include "headwise/attention/tensors.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

template <class T>
struct GradientTensors {
  Tensor<T, 4> query{};
  Tensor<T, 4> key{};
  Tensor<T, 4> value{};
  Tensor<float, 4> bias{};
  Tensor<float, 2> t5_bias{};
  Tensor<float, 1> alibi{};
  Tensor<float, 2> score_weight{};
  Tensor<float, 1> sinks{};
  Tensor<float, 2> bias_k{};
  Tensor<float, 2> bias_v{};

  AttentionGradientsOf<T> views() {
    return {.query = view_of_any(query),
            .key = view_of_any(key),
            .value = view_of_any(value),
            .bias = view_of_any(bias),
            .t5_bias = view_of_any(t5_bias),
            .alibi = view_of_any(alibi),
            .score_weight = view_of_any(score_weight),
            .sinks = view_of_any(sinks),
            .bias_k = view_of_any(bias_k),
            .bias_v = view_of_any(bias_v)};
  }

 private:
  template <class U, std::size_t Rank>
  static TensorView<U, Rank> view_of_any(Tensor<U, Rank>& tensor) {
    return tensor.size() != 0 ? tensor.view() : TensorView<U, Rank>();
  }
};

}  // namespace headwise::inline HEADWISE_ABI
