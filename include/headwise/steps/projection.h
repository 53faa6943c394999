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
// (docs/arithmetic.md), so a row's bits do not depend on its batch, nor on the
// threads or on what is projected beside it.
//
// A Linear keeps its parameters twice: as given, for whoever looks at them or
// trains them, and packed as the inner loops read them. Only update() changes
// them. for_inference() keeps the packed ones alone.
//
// Backward, d_y being the gradient of a loss by y:
//
//   d_x[b,l,i]     = sum_o d_y[b,l,o] * weight[o,i]
//   d_weight[o,i]  = sum_bl d_y[b,l,o] * x[b,l,i]
//   d_bias[o]      = sum_bl d_y[b,l,o]
//
// The sums over the tokens run in blocks of 128 tokens of one sequence; a token
// whose d_y is all zero is left out, whatever its x holds. So padding, packing
// and threads change no bit.
//
// Example:
//   Linear w_q = Linear::create({.in_features = 512, .out_features = 512},
//                               RandomStream(Seed{7}, 1)).value();
//   Tensor<float, 3> query = w_q.forward(x).value();
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "headwise/base/function_ref.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct LinearGradients {
  Tensor<float, 2> weight;  // (out_features, in_features)
  Tensor<float, 1> bias;    // (out_features), empty without a bias
};

struct LinearConfig {
  std::size_t in_features = 0;
  std::size_t out_features = 0;
  bool bias = true;
};

class Linear {
 public:
  // weight and bias ~ U(-1/sqrt(in_features), 1/sqrt(in_features)), as
  // PyTorch's nn.Linear; the same numbers on every machine. Errors:
  // invalid_argument for a size of 0, out_of_memory.
  static Result<Linear> create(const LinearConfig& config,
                               const RandomStream& random);
  // An empty `bias` is no bias. A weight may have no row, or no column: y is
  // then empty, or the bias, as where all heads of a layer were pruned. Errors:
  // invalid_argument for neither rows nor columns, shape_mismatch,
  // out_of_memory.
  static Result<Linear> from_params(Tensor<float, 2> weight,
                                    Tensor<float, 1> bias = {});

  // Half of the memory, for forward() alone: weight() and bias() are then
  // views of nothing, the backward passes an error (unsupported), and update()
  // shows nothing.
  Linear for_inference() &&;

  // x: any strides. Errors: shape_mismatch, out_of_memory, unsupported for a
  // HEADWISE_TARGET that is not there. `name` is what messages call x.
  Result<Tensor<float, 3>> forward(
      TensorView<const float, 3> x, std::string_view name = "x",
      const Executor& executor = Executor::default_executor()) const;
  // The same into y (B, L, out_features), not x's memory, the features side by
  // side. Errors: invalid_argument for a y whose features are not, or that
  // shares memory with x.
  Status forward_into(
      TensorView<const float, 3> x, TensorView<float, 3> y,
      std::string_view name = "x",
      const Executor& executor = Executor::default_executor()) const;

  // d_x (B, L, in_features) of d_y (B, L, out_features). Errors as forward().
  Result<Tensor<float, 3>> backward_input(
      TensorView<const float, 3> d_y, std::string_view name = "d_y",
      const Executor& executor = Executor::default_executor()) const;
  // The parameters' gradients, of the x of the forward pass. `offsets` (B + 1),
  // of a ragged batch: where the sequences of the one row of tokens begin.
  // Errors as forward(), and those of Offsets::check.
  Result<LinearGradients> backward_params(
      TensorView<const float, 3> x, TensorView<const float, 3> d_y,
      TensorView<const std::int64_t, 1> offsets = {},
      const Executor& executor = Executor::default_executor()) const;

  // Lets `change` write the weight's elements and the bias's (none without a
  // bias), then packs them. If `change` throws, what it wrote until then stays
  // and is packed, and the exception goes on to the caller. No other call may
  // run meanwhile.
  void update(
      FunctionRef<void(std::span<float> weight, std::span<float> bias)> change);

  std::size_t in_features() const { return features_[1]; }
  std::size_t out_features() const { return features_[0]; }
  bool has_bias() const { return has_bias_; }
  TensorView<const float, 2> weight() const { return weight_.view(); }
  TensorView<const float, 1> bias() const { return bias_.view(); }
  // Both once more, as the inner loops read them (kernels/gemm.h).
  TensorView<const float, 1> packed() const { return packed_.view(); }

 private:
  Linear(Tensor<float, 2> weight, Tensor<float, 1> bias,
         Tensor<float, 1> packed)
      : features_(weight.extents()),
        has_bias_(bias.size() != 0),
        weight_(std::move(weight)),
        bias_(std::move(bias)),
        packed_(std::move(packed)) {}
  // An error of what needs the parameters as they were given.
  Status check_given() const;
  static Result<Linear> pack(Tensor<float, 2> weight, Tensor<float, 1> bias);

  Extents<2> features_;  // out, in
  bool has_bias_;
  bool is_given_ = true;  // weight_ and bias_ are there
  Tensor<float, 2> weight_;
  Tensor<float, 1> bias_;
  Tensor<float, 1> packed_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
