// The reference's gradients are the derivatives of the reference's forward
// pass: central differences in binary64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "attention/attention_call.h"
#include "attention/backward_call.h"

namespace headwise::testing_support {
namespace {

double loss(const Inputs<double>& in, const Upstream<double>& upstream,
            const AttentionOptions& options,
            const OperationOptions& operation_options = {}) {
  const Outputs<double> out = reference(in, options, operation_options);
  double loss = 0;
  for (std::size_t n = 0; n < out.output.size(); ++n) {
    loss += out.output.data()[n] * upstream.d_output.data()[n];
  }
  for (std::size_t n = 0; n < upstream.d_attn_weights.size(); ++n) {
    loss += out.attn_weights.data()[n] * upstream.d_attn_weights.data()[n];
  }
  return loss;
}

// The derivative of the loss by x: five points, so that the error falls with
// the fourth power of the step.
template <class T, class Loss>
double difference(T& x, double step, const Loss& loss) {
  const T at = x;
  const auto moved = [&](double by) {
    x = static_cast<T>(static_cast<double>(at) + by);
    const double there = loss();
    x = at;
    return there;
  };
  return (8 * (moved(step) - moved(-step)) - moved(2 * step) +
          moved(-2 * step)) /
         (12 * step);
}

// Every element of the gradient against the difference at its operand.
template <class T, std::size_t Rank, class Loss>
void expect_derivatives(const Tensor<double, Rank>& gradient,
                        Tensor<T, Rank>& operand, double step,
                        const std::string& name, const Loss& loss) {
  double largest = 1e-3;
  for (const double x : gradient.elements()) {
    largest = std::max(largest, std::abs(x));
  }
  for (std::size_t n = 0; n < gradient.size(); ++n) {
    EXPECT_NEAR(gradient.data()[n], difference(operand.data()[n], step, loss),
                1e-7 * largest)
        << name << ", element " << n;
  }
}

const AttentionShape kTiny = {
    .B = 2, .Hq = 4, .Hkv = 2, .Lq = 3, .Lkv = 5, .D = 3, .Dv = 2};

class ReferenceBackwardTest : public testing::Test {
 protected:
  void expect_gradients(const AttentionOptions& options,
                        const OperationOptions& operation_options,
                        const std::string& name) {
    const Inputs<float> narrow = random_inputs(kTiny, 3000, 1);
    Inputs<double> in = widened(narrow);
    const Upstream<double> upstream =
        widened(random_upstream(narrow, options, 3010, operation_options));
    const Gradients<double> got =
        reference_gradients(in, upstream, options, operation_options);
    const auto at = [&] {
      return loss(in, upstream, options, operation_options);
    };
    expect_derivatives(got.query, in.query, 1e-3, name + ": d_query", at);
    expect_derivatives(got.key, in.key, 1e-3, name + ": d_key", at);
    expect_derivatives(got.value, in.value, 1e-3, name + ": d_value", at);
  }
};

TEST_F(ReferenceBackwardTest, OfQueryKeyAndValueAreDerivatives) {
  const EveryMask every_mask(kTiny, true);
  for (const OptionsCase& c : every_options(every_mask)) {
    // A row of NaN has no derivative.
    if (c.options.empty_rows != EmptyRow::nan) {
      expect_gradients(c.options, c.operation_options, c.name);
    }
  }
}

// Exact in binary32, and so are its neighbours at the distance of the steps.
template <std::size_t Rank>
Tensor<float, Rank> coarse(const Extents<Rank>& extents, std::uint32_t stream) {
  auto tensor = uniform<Rank>(extents, stream, -1, 1);
  for (float& x : tensor.elements()) {
    x = std::round(x * 64) / 64;
  }
  return tensor;
}

template <std::size_t Rank>
void expect_bias_gradient(const Extents<Rank>& extents,
                          const std::array<Axis, Rank>& axes,
                          const std::string& name) {
  const Inputs<float> narrow = random_inputs(kTiny, 3100, 1);
  const Inputs<double> in = widened(narrow);
  auto bias = coarse<Rank>(extents, 3110);
  const AttentionOptions options = {.mask = causal(),
                                    .softcap = 1.5,
                                    .bias = dense(view_of(bias), axes),
                                    .query_start = 1,
                                    .attn_weights = AttnWeights::per_head};
  const Upstream<double> upstream =
      widened(random_upstream(narrow, options, 3120));
  auto got = reference_gradients(in, upstream, options);
  auto flat = Tensor<double, Rank>::create(extents).value();
  const auto by_bias = by_scores(flat.view(), axes);
  const auto [B, H, Lq, Lkv] = by_bias.extents();
  ASSERT_EQ(by_bias.extents(), got.bias.extents()) << name;
  for (std::size_t n = 0; n < got.bias.size(); ++n) {
    by_bias(n / Lkv / Lq / H, n / Lkv / Lq % H, n / Lkv % Lq, n % Lkv) =
        got.bias.data()[n];
  }
  expect_derivatives(flat, bias, 1.0 / 256, name,
                     [&] { return loss(in, upstream, options); });
}

TEST_F(ReferenceBackwardTest, OfABiasAreDerivativesWhateverItIsBroadcastOver) {
  const std::size_t B = kTiny.B;
  const std::size_t H = kTiny.Hq;
  const std::size_t Lq = kTiny.Lq;
  const std::size_t Lkv = kTiny.Lkv;
  expect_bias_gradient<4>({B, H, Lq, Lkv},
                          {Axis::B, Axis::H, Axis::Lq, Axis::Lkv}, "whole");
  expect_bias_gradient<3>({H, Lq, Lkv}, {Axis::H, Axis::Lq, Axis::Lkv}, "H");
  expect_bias_gradient<2>({Lkv, Lq}, {Axis::Lkv, Axis::Lq}, "turned");
  expect_bias_gradient<3>({B, 1, Lkv}, {Axis::B, Axis::one, Axis::Lkv}, "keys");
  expect_bias_gradient<2>({Lq, H}, {Axis::Lq, Axis::H}, "queries");
  expect_bias_gradient<1>({H}, {Axis::H}, "heads");
}

TEST_F(ReferenceBackwardTest, OfAScoreWeightAreDerivatives) {
  const Inputs<float> narrow = random_inputs(kTiny, 3300, 1);
  const Inputs<double> in = widened(narrow);
  auto score_weight = coarse<2>({kTiny.Hq, kTiny.D}, 3310);
  for (const std::optional<double> softcap :
       {std::optional<double>(), std::optional<double>(0.8)}) {
    const AttentionOptions options = {.mask = causal(),
                                      .softcap = softcap,
                                      .query_start = 1,
                                      .attn_weights = AttnWeights::per_head};
    const OperationOptions additive = {.score_weight = score_weight};
    const Upstream<double> upstream =
        widened(random_upstream(narrow, options, 3320));
    const auto got = reference_gradients(in, upstream, options, additive);
    expect_derivatives(got.score_weight, score_weight, 1.0 / 256,
                       "score_weight",
                       [&] { return loss(in, upstream, options, additive); });
  }
}

TEST_F(ReferenceBackwardTest, OfSinksAreDerivatives) {
  const Inputs<float> narrow = random_inputs(kTiny, 3400, 1);
  const Inputs<double> in = widened(narrow);
  auto sinks = coarse<1>({kTiny.Hq}, 3410);
  // Query 0 has no key.
  const AttentionOptions options = {.mask = causal(),
                                    .sinks = sinks,
                                    .query_start = -1,
                                    .attn_weights = AttnWeights::per_head};
  const Upstream<double> upstream =
      widened(random_upstream(narrow, options, 3420));
  const auto got = reference_gradients(in, upstream, options);
  expect_derivatives(got.sinks, sinks, 1.0 / 256, "sinks",
                     [&] { return loss(in, upstream, options); });
  sinks(2) = kMinusInf;
  EXPECT_EQ(reference_gradients(in, upstream, options).sinks(2), 0);
}

TEST_F(ReferenceBackwardTest, OfAddedKeysAreDerivatives) {
  const Inputs<float> narrow = random_inputs(kTiny, 3500, 1);
  const Inputs<double> in = widened(narrow);
  auto bias_k = coarse<2>({kTiny.Hkv, kTiny.D}, 3510);
  auto bias_v = coarse<2>({kTiny.Hkv, kTiny.Dv}, 3511);
  // Query 0 sees no other key.
  const AttentionOptions options = {
      .mask = causal(),
      .softcap = 1.5,
      .query_start = -1,
      .dropout = {.p = 0.3, .training = true, .seed = Seed{4}},
      .attn_weights = AttnWeights::after_dropout};
  const OperationOptions operation = {
      .added_keys = {bias_k.view(), bias_v.view(), true}};
  const Upstream<double> upstream =
      widened(random_upstream(narrow, options, 3520, operation));
  const auto got = reference_gradients(in, upstream, options, operation);
  const auto at = [&] { return loss(in, upstream, options, operation); };
  expect_derivatives(got.bias_k, bias_k, 1.0 / 256, "bias_k", at);
  expect_derivatives(got.bias_v, bias_v, 1.0 / 256, "bias_v", at);
}

TEST_F(ReferenceBackwardTest, OfSlopesAreDerivatives) {
  const Inputs<float> narrow = random_inputs(kTiny, 3200, 1);
  const Inputs<double> in = widened(narrow);
  auto slopes = coarse<1>({kTiny.Hq}, 3210);
  const AttentionOptions options = {
      .mask = causal(), .softcap = 1.5, .alibi = slopes, .query_start = 1};
  const Upstream<double> upstream =
      widened(random_upstream(narrow, options, 3220));
  const auto got = reference_gradients(in, upstream, options);
  expect_derivatives(got.alibi, slopes, 1.0 / 256, "slopes",
                     [&] { return loss(in, upstream, options); });
}

TEST_F(ReferenceBackwardTest, OfT5BucketsAreDerivatives) {
  const Inputs<float> narrow = random_inputs(kTiny, 3400, 1);
  const Inputs<double> in = widened(narrow);
  auto table = coarse<2>({6, kTiny.Hq}, 3410);
  const AttentionOptions options = {
      .softcap = 1.5,
      .t5_bias = {.table = table, .max_distance = 3, .bidirectional = true},
      .query_start = 1};
  const Upstream<double> upstream =
      widened(random_upstream(narrow, options, 3420));
  const auto got = reference_gradients(in, upstream, options);
  expect_derivatives(got.t5_bias, table, 1.0 / 256, "buckets",
                     [&] { return loss(in, upstream, options); });
}

}  // namespace
}  // namespace headwise::testing_support
