// A Dense module of sentence-transformers, on the pooled vector of a sentence:
//
//   y = activation(W x + b)      in float32, sums as in models/pooling.h
#pragma once

#include <span>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/models/model_settings.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

class DenseModule {
 public:
  // Errors: io_error; bad_data for tensors that are missing, not finite or of
  // another shape; out_of_memory.
  static Result<DenseModule> read(const DenseSettings& settings);

  // Both functions may throw std::bad_alloc.
  std::vector<float> forward(std::span<const float> x) const;
  // The gradient by x of a loss with the gradient d_y by y.
  std::vector<float> backward(std::span<const float> y,
                              std::span<const float> d_y) const;

 private:
  DenseModule(Tensor<float, 2> weight, Tensor<float, 1> bias,
              DenseActivation activation)
      : weight_(std::move(weight)),
        bias_(std::move(bias)),
        activation_(activation) {}

  Tensor<float, 2> weight_;  // (out_features, in_features)
  Tensor<float, 1> bias_;    // or none
  DenseActivation activation_;
};

}  // namespace headwise::inline HEADWISE_ABI
