// The encoder's backward pass: every parameter and every gate against central
// differences of the encoder in double.

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "headwise/steps/head_gates.h"
#include "headwise/transformer/transformer.h"
#include "models/bert_reference.h"
#include "models/context_gradients.h"
#include "models/small_model.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

const RaggedTokens kIds = {{2, 5, 9, 3}, {2, 3}, {2, 13, 0, 1, 5, 6, 7, 8, 3}};
constexpr std::size_t kRows = 15;

std::vector<Tensor<float, 1>> gates_of(std::vector<std::vector<float>> values) {
  std::vector<Tensor<float, 1>> gates;
  for (auto& layer : values) {
    gates.push_back(tensor_of<float, 1>({layer.size()}, layer));
  }
  return gates;
}

class TransformerTrainingTest : public testing::TestWithParam<SmallFamily> {
 protected:
  TransformerTrainingTest() {
    EXPECT_TRUE(write_params(folder_ / "model.safetensors", params_));
  }
  Transformer read(ModelUse use = ModelUse::training,
                   Arithmetic arithmetic = Arithmetic::exact) {
    return read_small(folder_, config_, {.use = use, .arithmetic = arithmetic})
        .value();
  }
  ModelGradients gradients_of(const Transformer& encoder, HeadGateSpan gates,
                              std::size_t threads) const {
    const Executor executor = Executor::with_threads(threads).value();
    auto saved = encoder
                     .forward_for_backward(
                         kIds, {.head_gates = gates, .executor = &executor})
                     .value();
    return encoder.backward(saved, d_hidden_).value();
  }
  // sum d_hidden * hidden of the reference, of all sequences or one.
  double loss_of(const Params& params, const BertReference::Rows& gates = {},
                 std::size_t begin = 0, std::size_t end = kIds.size()) const {
    BertReference reference(config_, params);
    reference.set_gates(gates);
    double loss = 0;
    std::size_t row = 0;
    for (std::size_t b = 0; b < kIds.size(); ++b) {
      if (b < begin || b >= end) {
        row += kIds[b].size();
        continue;
      }
      for (const auto& hidden : reference.forward(kIds[b])) {
        for (std::size_t e = 0; e < hidden.size(); ++e) {
          loss += hidden[e] * static_cast<double>(d_hidden_(row, e));
        }
        ++row;
      }
    }
    return loss;
  }
  void expect_gradient(const std::string& name,
                       const Tensor<float, 1>& gradient) {
    ASSERT_TRUE(params_.contains(name)) << name;
    Tensor<float, 2>& values = params_.at(name);
    ASSERT_EQ(gradient.size(), values.size()) << name;
    constexpr float kStep = 0x1p-9f;
    // Of large ones some elements, rows and columns of all kinds.
    const std::size_t apart = 1 + values.size() / 19;
    std::map<std::size_t, double> expected;
    for (std::size_t n = 0; n < values.size(); n += apart) {
      float& x = values.elements()[n];
      const float was = x;
      x = was + kStep;
      const double high = loss_of(params_);
      const double up = x;
      x = was - kStep;
      expected[n] = (high - loss_of(params_)) / (up - static_cast<double>(x));
      x = was;
    }
    double largest = 0.1;
    for (const auto& [n, g] : expected) {
      largest = std::max(largest, std::abs(g));
    }
    for (const auto& [n, g] : expected) {
      EXPECT_NEAR(gradient(n), g, 1e-4 * largest) << name << " " << n;
    }
  }

  TempFolder folder_;
  SmallConfig config_ = small_config(GetParam());
  Params params_ = small_params(config_);
  Tensor<float, 2> d_hidden_ = uniform<2>({kRows, 12}, 90);
};

TEST_P(TransformerTrainingTest,
       ParametersHaveTheGradientsOfTheEncoderInDouble) {
  const Transformer encoder = read();
  auto saved = encoder.forward_for_backward(kIds).value();
  const ModelGradients got = encoder.backward(saved, d_hidden_).value();
  EXPECT_EQ(got.params.size(), params_.size());
  for (const auto& [name, gradient] : got.params) {
    expect_gradient(name, gradient);
  }
  EXPECT_TRUE(got.head_gates.empty());
}

TEST_P(TransformerTrainingTest, EveryGateHasTheGradientOfEachSequence) {
  const Transformer encoder = read();
  const auto gates = gates_of({{1, 0.5, 0}, {-1, 1, 2}});
  auto saved =
      encoder.forward_for_backward(kIds, {.head_gates = gates}).value();
  const ModelGradients got =
      encoder.backward(saved, d_hidden_, ModelWanted::gates).value();
  EXPECT_TRUE(got.params.empty());
  ASSERT_EQ(got.head_gates.size(), 2u);
  for (std::size_t n = 0; n < 2; ++n) {
    ASSERT_EQ(got.head_gates[n].extents(), (Extents<2>{3, 3}));
    for (std::size_t h = 0; h < 3; ++h) {
      for (std::size_t b = 0; b < 3; ++b) {
        constexpr double kStep = 1e-4;
        BertReference::Rows moved = {{1, 0.5, 0}, {-1, 1, 2}};
        moved[n][h] += kStep;
        const double high = loss_of(params_, moved, b, b + 1);
        moved[n][h] -= 2 * kStep;
        EXPECT_NEAR(got.head_gates[n](b, h),
                    (high - loss_of(params_, moved, b, b + 1)) / (2 * kStep),
                    3e-5);
      }
    }
  }
}

TEST_P(TransformerTrainingTest, HooksSeeContextsAndTheirGradients) {
  const Transformer encoder = read();
  const auto gates = gates_of({{1, 1, 1}, {1, 1, 1}});
  ContextGradients seen(2, 3);
  auto saved = encoder
                   .forward_for_backward(
                       kIds, {.head_gates = gates, .hooks = seen.hooks()})
                   .value();
  seen.expect_sums_of(encoder.backward(saved, d_hidden_, ModelWanted::gates)
                          .value()
                          .head_gates);
}

TEST_P(TransformerTrainingTest, GatesAreThoseOfTheEncoderInDouble) {
  const Transformer encoder = read(ModelUse::inference);
  const auto gates = gates_of({{1, 0.5, 0}, {-1, 1, 2}});
  const auto got = encoder.hidden(kIds, {.head_gates = gates}).value();
  BertReference reference(config_, params_);
  reference.set_gates({{1, 0.5, 0}, {-1, 1, 2}});
  std::size_t row = 0;
  for (const auto& ids : kIds) {
    for (const auto& expected : reference.forward(ids)) {
      for (std::size_t e = 0; e < expected.size(); ++e) {
        EXPECT_NEAR(got(row, e), expected[e], 1e-5);
      }
      ++row;
    }
  }
}

TEST_P(TransformerTrainingTest, TheForwardPassOfTrainingHasTheBitsOfTheOther) {
  const auto gates = gates_of({{1, 0.5, 0}, {-1, 1, 2}});
  for (const Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::bf16}) {
    const Transformer encoder = read(ModelUse::training, arithmetic);
    const Transformer other = read(ModelUse::inference, arithmetic);
    for (const HeadGateSpan given : {HeadGateSpan(), HeadGateSpan(gates)}) {
      const auto saved =
          encoder.forward_for_backward(kIds, {.head_gates = given}).value();
      const auto plain = other.hidden(kIds, {.head_gates = given}).value();
      EXPECT_TRUE(same_bits({saved.hidden().data(), saved.hidden().size()},
                            plain.elements()));
    }
  }
}

TEST_P(TransformerTrainingTest, GradientsHaveTheSameBitsOnAnyThreads) {
  const auto gates = gates_of({{1, 1, 1}, {1, 1, 1}});
  for (const Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::bf16}) {
    const Transformer encoder = read(ModelUse::training, arithmetic);
    const ModelGradients one = gradients_of(encoder, gates, 1);
    const ModelGradients three = gradients_of(encoder, gates, 3);
    for (const auto& [name, gradient] : one.params) {
      EXPECT_TRUE(
          same_bits(gradient.elements(), three.params.at(name).elements()))
          << name;
    }
    for (std::size_t n = 0; n < 2; ++n) {
      EXPECT_TRUE(same_bits(one.head_gates[n].elements(),
                            three.head_gates[n].elements()));
    }
  }
}

// ||x - y|| / ||y||
double distance(std::span<const float> x, std::span<const float> y) {
  double apart = 0;
  double of_y = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    const double expected = y[n];
    apart += (x[n] - expected) * (x[n] - expected);
    of_y += expected * expected;
  }
  return std::sqrt(apart / of_y);
}

TEST_P(TransformerTrainingTest, GradientsInBf16AreNearTheExactOnes) {
  const auto gates = gates_of({{1, 1, 1}, {1, 1, 1}});
  const ModelGradients exact = gradients_of(read(), gates, 1);
  const ModelGradients got =
      gradients_of(read(ModelUse::training, Arithmetic::bf16), gates, 1);
  ASSERT_EQ(got.params.size(), exact.params.size());
  for (const auto& [name, gradient] : exact.params) {
    // A bias of keys changes no score: its gradient is only rounding.
    if (name.ends_with("key.bias") || name.ends_with("k_lin.bias")) {
      continue;
    }
    const double apart =
        distance(got.params.at(name).elements(), gradient.elements());
    EXPECT_LT(apart, 0.05) << name;
    if (name.ends_with("weight")) {
      EXPECT_GT(apart, 1e-5) << name << " is of rounded numbers";
    }
  }
}

TEST_P(TransformerTrainingTest, InBf16TheParametersThatLearnAreFloat32) {
  const Transformer encoder = read(ModelUse::training, Arithmetic::bf16);
  EXPECT_EQ(encoder.arithmetic(), Arithmetic::bf16);
  EXPECT_EQ(encoder.params().size(), params_.size());
  for (const auto& [name, view] : encoder.params()) {
    const auto expected = std::as_const(params_.at(name)).elements();
    EXPECT_TRUE(same_bits(
        {static_cast<const float*>(view.data()), expected.size()}, expected))
        << name;
  }
}

TEST_P(TransformerTrainingTest, AnUpdateIsSeenByTheNextCallAndByParams) {
  for (const Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::bf16}) {
    Transformer encoder = read(ModelUse::training, arithmetic);
    Params moved = small_params(config_);
    std::vector<std::string> names;
    ASSERT_TRUE(
        encoder.update([&](std::string_view name, std::span<float> values) {
          names.emplace_back(name);
          for (std::size_t n = 0; n < values.size(); ++n) {
            moved.at(names.back()).data()[n] += 0.125f;
            values[n] += 0.125f;
          }
          return ok();
        }));
    EXPECT_EQ(names.size(), params_.size());
    const TempFolder other;
    ASSERT_TRUE(write_params(other / "model.safetensors", moved));
    const auto expected = read_small(other, config_, {.arithmetic = arithmetic})
                              .value()
                              .hidden(kIds)
                              .value();
    EXPECT_TRUE(same_bits(encoder.hidden(kIds).value().elements(),
                          expected.elements()));
    const auto views = encoder.params();
    ASSERT_EQ(views.size(), moved.size());
    for (const auto& [name, view] : views) {
      const auto values = std::as_const(moved.at(name)).elements();
      EXPECT_TRUE(same_bits(
          {static_cast<const float*>(view.data()), values.size()}, values))
          << name;
    }
  }
}

TEST_P(TransformerTrainingTest, AnUpdateThatThrowsLeavesWhatItWroteInUse) {
  Transformer encoder = read();
  const auto hidden = [&] { return encoder.hidden(kIds).value(); };
  auto before = hidden();
  const std::size_t names = encoder.params().size();
  for (std::size_t last = 0; last < names; ++last) {
    std::size_t n = 0;
    const auto stops = [&] {
      (void)encoder.update([&](std::string_view, std::span<float> values) {
        values[values.size() / 2] += 0.5f;
        if (n++ == last) {
          throw std::runtime_error("stop");
        }
        return ok();
      });
    };
    EXPECT_THROW(stops(), std::runtime_error);
    const auto after = hidden();
    EXPECT_FALSE(same_bits(after, before)) << last;
    ASSERT_TRUE(encoder.update(
        [](std::string_view, std::span<float>) { return ok(); }));
    EXPECT_TRUE(same_bits(hidden(), after)) << last;
    before = hidden();
  }
}

TEST_P(TransformerTrainingTest, AnUpdateEndsWithTheFirstErrorAndReturnsIt) {
  Transformer encoder = read();
  const std::size_t names = encoder.params().size();
  for (std::size_t last = 0; last < names; ++last) {
    std::size_t shown = 0;
    const Status s = encoder.update([&](std::string_view, std::span<float>) {
      return shown++ == last ? Status(ErrorCode::out_of_range) : ok();
    });
    ASSERT_FALSE(s);
    EXPECT_EQ(s.error().code(), ErrorCode::out_of_range);
    EXPECT_EQ(shown, last + 1);
  }
}

TEST_P(TransformerTrainingTest, AnEncoderForInferenceHasNothingToUpdate) {
  Transformer encoder = read(ModelUse::inference);
  const Status s = encoder.update([](std::string_view, std::span<float>) {
    ADD_FAILURE() << "nothing is shown";
    return ok();
  });
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code(), ErrorCode::unsupported);
}

TEST_P(TransformerTrainingTest, WhatDoesNotFitIsNamed) {
  const Transformer encoder = read();
  auto saved = encoder.forward_for_backward(kIds).value();
  const auto narrow = uniform<2>({kRows, 11}, 91);
  const auto is_refused = [](ErrorCode code, std::string argument,
                             std::vector<std::string> given,
                             std::vector<std::string> expected) {
    return HasError({.code = code,
                     .operation = "transformer",
                     .argument = std::move(argument),
                     .given = std::move(given),
                     .expected = std::move(expected)});
  };
  EXPECT_THAT(encoder.backward(saved, narrow),
              is_refused(ErrorCode::shape_mismatch, "d_hidden", {"(15, 11)"},
                         {"(15, 12)"}));
  EXPECT_TRUE(encoder.backward(saved, d_hidden_));
  EXPECT_THAT(encoder.backward(saved, d_hidden_),
              is_refused(ErrorCode::invalid_argument, "saved", {"used"}, {}));
  const auto gates = gates_of({{1, 1, 1}, {1, 1}});
  EXPECT_THAT(
      encoder.hidden(kIds, {.head_gates = gates}),
      is_refused(ErrorCode::shape_mismatch, "head_gates[1]", {"(2)"}, {"(3)"}));
  EXPECT_THAT(
      encoder.hidden(kIds, {.head_gates = std::span(gates).first(1)}),
      is_refused(ErrorCode::shape_mismatch, "head_gates", {"1"}, {"2"}));
  const auto see = [](const AttentionPlace&, TensorView<const float, 4>) {
    return ok();
  };
  EXPECT_THAT(encoder.forward_for_backward(kIds, {.see_attn_weights = see}),
              is_refused(ErrorCode::invalid_argument, "see_attn_weights",
                         {"given"}, {"none"}));
  const auto refused = read(ModelUse::inference).forward_for_backward(kIds);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::unsupported);
  EXPECT_THAT(refused, HasExpected("ModelUse::training"));
}

TEST_P(TransformerTrainingTest, ABatchWithoutATokenHasGradientsOfZero) {
  const Transformer encoder = read();
  auto saved = encoder.forward_for_backward({{}, {}}).value();
  const auto none = filled<float, 2>({0, 12}, 0);
  const ModelGradients got = encoder.backward(saved, none).value();
  EXPECT_EQ(got.params.size(), params_.size());
  for (const auto& [name, gradient] : got.params) {
    for (const float g : gradient.elements()) {
      EXPECT_EQ(g, 0) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, TransformerTrainingTest, both_families(),
                         family_name);

}  // namespace
}  // namespace headwise::testing_support
