// Steps 4 and 12: a linear map of the last axis, to query, key and value and
// to the output:
//
//   y[b,l,o] = sum_i x[b,l,i] * weight[o,i] + bias[o]
//
//   x       (B, L, in_features)         in
//   weight  (out_features, in_features) the parameter w_q.weight, ...
//   bias    (out_features)              the parameter w_q.bias, ...; optional
//   y       (B, L, out_features)        out
//
// The sum runs in blocks of 128 input features, added in order, then the bias
// (docs/arithmetic.md), so a row's bits do not depend on its batch.
//
// Example:
//   Linear w_q = Linear::create({.in_features = 512, .out_features = 512},
//                               RandomStream(Seed{7}, 1)).value();
//   Tensor<float, 3> query = w_q.forward(x.view()).value();
#pragma once

#include <cstddef>

#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/run/executor.h"

namespace headwise {

struct LinearConfig {
  std::size_t in_features = 0;
  std::size_t out_features = 0;
  bool bias = true;
};

class Linear {
 public:
  // weight and bias ~ U(-1/sqrt(in_features), 1/sqrt(in_features)), as
  // PyTorch's nn.Linear; the same numbers on every machine. Errors:
  // invalid_argument for a size of 0.
  static Result<Linear> create(const LinearConfig& config,
                               const RandomStream& random);
  // An empty `bias` is no bias. Errors: shape_mismatch.
  static Result<Linear> from_params(Tensor<float, 2> weight,
                                    Tensor<float, 1> bias = {});

  // Errors: shape_mismatch, out_of_memory. `name` is what messages call x.
  Result<Tensor<float, 3>> forward(
      TensorView<const float, 3> x, std::string_view name = "x",
      const Executor& executor = Executor::default_executor()) const;

  std::size_t in_features() const { return weight_.extent(1); }
  std::size_t out_features() const { return weight_.extent(0); }
  bool has_bias() const { return bias_.size() != 0; }
  TensorView<const float, 2> weight() const { return weight_.view(); }
  TensorView<const float, 1> bias() const { return bias_.view(); }

 private:
  Linear(Tensor<float, 2> weight, Tensor<float, 1> bias)
      : weight_(std::move(weight)), bias_(std::move(bias)) {}

  Tensor<float, 2> weight_;
  Tensor<float, 1> bias_;
};

}  // namespace headwise
