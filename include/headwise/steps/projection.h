// Steps 4 and 12: a linear map of the last axis, to query, key and value, and
// to the output:
//
//   y[b,l,o] = sum_i x[b,l,i] * weight[o,i] + bias[o]
//
//   x       (B, L, in_features)         in
//   weight  (out_features, in_features) the parameter w_q.weight, ...
//   bias    (out_features)              the parameter w_q.bias, ...; optional
//   y       (B, L, out_features)        out
//
// The sum runs in blocks of 128 input features, which are added in order, then
// the bias (docs/arithmetic.md). So a row's bits do not depend on its batch, on
// the threads or on other projections in the same call.
//
// A Linear keeps its parameters twice: as given, for inspection and training,
// and packed as the inner loops read them. Only update() changes them.
// for_inference() keeps only the packed ones. in_bf16() packs them in half of
// the memory: numbers are then rounded to bfloat16 before they are multiplied,
// forward and backward. Sums, the bias and the parameters as given stay
// float32.
//
// Backward, with d_y the gradient of a loss with respect to y:
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

#include "headwise/base/arithmetic.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/half.h"
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
  // An empty `bias` means no bias. A weight may have no rows or no columns, as
  // when all heads of a layer were pruned: y is then empty, or the bias.
  // Errors: invalid_argument for neither rows nor columns, shape_mismatch,
  // out_of_memory.
  static Result<Linear> from_params(Tensor<float, 2> weight,
                                    Tensor<float, 1> bias = {});

  // Overloads for 16-bit parameters, which are widened.
  static Result<Linear> from_params(TensorView<const BFloat16, 2> weight,
                                    TensorView<const BFloat16, 1> bias = {});
  static Result<Linear> from_params(TensorView<const Float16, 2> weight,
                                    TensorView<const Float16, 1> bias = {});

  // A projection as after for_inference(), from a weight of which no copy is
  // made: `fill` writes the rows from number `first` on, (rows, in_features);
  // several threads call it. `bias` is empty or (out_features). Errors:
  // shape_mismatch, out_of_memory, unsupported for a HEADWISE_TARGET that is
  // not available; that of the first rows whose `fill` gave one.
  static Result<Linear> from_rows(
      const LinearConfig& config, Tensor<float, 1> bias, Arithmetic arithmetic,
      FunctionRef<Status(std::size_t first, TensorView<float, 2> rows)> fill,
      const Executor& executor = Executor::default_executor());

  // The same projection in half of the memory (in bfloat16 a third), only for
  // forward(): weight() and bias() are then empty views, the backward passes
  // return an error (unsupported), and update() does nothing.
  Linear for_inference() &&;
  // The same projection in bfloat16, whatever this one is in. What is not there
  // after for_inference() is not there either. Errors: out_of_memory,
  // unsupported for a HEADWISE_TARGET that is not available.
  Result<Linear> in_bf16() const;
  // And in float32: nothing is rounded. Errors: out_of_memory; unsupported in
  // bfloat16 after for_inference().
  Result<Linear> in_float32() const;

  // x may have any strides. Errors: shape_mismatch, out_of_memory, unsupported
  // for a HEADWISE_TARGET that is not available. Messages call x `name`.
  Result<Tensor<float, 3>> forward(
      TensorView<const float, 3> x, std::string_view name = "x",
      const Executor& executor = Executor::default_executor()) const;
  // The same, written to y (B, L, out_features). Errors: also invalid_argument
  // for a y whose features are not contiguous, or that overlaps x.
  Status forward_into(
      TensorView<const float, 3> x, TensorView<float, 3> y,
      std::string_view name = "x",
      const Executor& executor = Executor::default_executor()) const;

  // d_x (B, L, in_features) from d_y (B, L, out_features). Errors as forward();
  // unsupported after for_inference().
  Result<Tensor<float, 3>> backward_input(
      TensorView<const float, 3> d_y, std::string_view name = "d_y",
      const Executor& executor = Executor::default_executor()) const;
  // The parameters' gradients, from the x of the forward pass. `offsets` (B +
  // 1), for a ragged batch: where the sequences begin in the one row of tokens.
  // Errors as backward_input(), and those of Offsets::check.
  Result<LinearGradients> backward_params(
      TensorView<const float, 3> x, TensorView<const float, 3> d_y,
      TensorView<const std::int64_t, 1> offsets = {},
      const Executor& executor = Executor::default_executor()) const;

  // Lets `change` write the elements of the weight and of the bias (empty
  // without one), then packs them. If `change` throws, what it wrote until then
  // stays and is packed, and the exception reaches the caller. No other call
  // may run meanwhile.
  void update(
      FunctionRef<void(std::span<float> weight, std::span<float> bias)> change);

  std::size_t in_features() const { return features_[1]; }
  std::size_t out_features() const { return features_[0]; }
  bool has_bias() const { return has_bias_; }
  Arithmetic arithmetic() const { return arithmetic_; }
  // Whether weight() and bias() are there.
  bool keeps_params() const { return is_given_; }
  TensorView<const float, 2> weight() const { return weight_.view(); }
  TensorView<const float, 1> bias() const { return bias_.view(); }
  // Weight and bias as the inner loops read them (kernels/gemm.h; in bfloat16
  // kernels/pair_gemm.h).
  TensorView<const float, 1> packed() const { return packed_.view(); }

 private:
  Linear(Tensor<float, 2> weight, Tensor<float, 1> bias,
         Tensor<float, 1> packed)
      : features_(weight.extents()),
        has_bias_(bias.size() != 0),
        weight_(std::move(weight)),
        bias_(std::move(bias)),
        packed_(std::move(packed)) {}
  // An error unless the parameters as given are kept.
  HEADWISE_HIDDEN Status check_given() const;
  HEADWISE_HIDDEN static Result<Linear> pack(Tensor<float, 2> weight,
                                             Tensor<float, 1> bias);
  // Packs the parameters as given.
  HEADWISE_HIDDEN void pack_given();
  // A copy, except for what is packed.
  HEADWISE_HIDDEN Result<Linear> with_packed(Result<Tensor<float, 1>> packed,
                                             Arithmetic arithmetic) const;

  Extents<2> features_;  // out, in
  bool has_bias_;
  bool is_given_ = true;                       // weight_ and bias_ are there
  Arithmetic arithmetic_ = Arithmetic::exact;  // of packed_
  Tensor<float, 2> weight_;
  Tensor<float, 1> bias_;
  Tensor<float, 1> packed_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
