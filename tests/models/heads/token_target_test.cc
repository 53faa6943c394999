// Attributions of a small causal model against the same model in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/heads/attribution_target.h"
#include "headwise/heads/integrated_gates.h"
#include "headwise/prune/remove_heads.h"
#include "models/causal_reference.h"
#include "models/small_causal.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using Rows = CausalReference::Rows;

const std::vector<TokenId> kText = {5, 6, 8, 5, 6, 13, 0};

std::unique_ptr<LanguageModel> pruned_model(const std::vector<HeadId>& gone) {
  Transformer model = small_causal_transformer();
  EXPECT_TRUE(remove_heads(model, gone, ConstantPart::dropped));
  return with_words(std::move(model));
}

struct Setting {
  TokenTargetOptions options;
  std::vector<HeadId> gone;
};

class TokenTargetTest : public testing::TestWithParam<Setting> {
 protected:
  // F in double.
  double plain_value(Rows gates) const {
    for (const HeadId& head : GetParam().gone) {
      gates[head.layer][head.head] = 0;
    }
    const Rows logits = reference_.logits(kText, gates);
    return logits[target_.position()]
                 [static_cast<std::size_t>(target_.token())];
  }
  // A weight times dF by it, by central differences.
  double plain_product(std::size_t layer, std::size_t head, std::size_t query,
                       std::size_t key) {
    constexpr double kStep = 1e-5;
    reference_.scale_weight(layer, head, query, key, 1 + kStep);
    const double more = plain_value(kOnes);
    reference_.scale_weight(layer, head, query, key, 1 - kStep);
    const double less = plain_value(kOnes);
    reference_.scale_weight(0, 0, 0, 0, 1);
    return (more - less) / (2 * kStep);
  }

  static inline const Rows kOnes = Rows(2, std::vector<double>(3, 1));

  std::unique_ptr<LanguageModel> model_ = pruned_model(GetParam().gone);
  CausalReference reference_{small_causal_transformer()};  // with all heads
  TokenTarget target_ =
      TokenTarget::create(*model_, kText, GetParam().options).value();
};

INSTANTIATE_TEST_SUITE_P(
    Settings, TokenTargetTest,
    testing::Values(Setting{{}, {}}, Setting{{.position = 4}, {{0, 1}}},
                    Setting{{.token = 9}, {{1, 0}, {1, 1}, {1, 2}, {0, 2}}},
                    Setting{{.position = 2, .token = 0},
                            {{0, 0}, {0, 1}, {0, 2}}}));

TEST_P(TokenTargetTest, HasTheValueOfTheFormula) {
  EXPECT_NEAR(target_.value(kText, {}).value(), plain_value(kOnes), 1e-5);
}

TEST_P(TokenTargetTest, GradientTimesAttentionIsThatOfEachWeight) {
  const auto layers = target_.gradient_attention_of(kText).value();
  std::vector<Tensor<float, 4>> maps(2);
  ASSERT_TRUE(
      target_.visit_gradients(kText, [&](const GradientLayer& layer) -> Status {
        maps[layer.number] =
            gradient_attention_map(layer.heads, layer.d_context, layer.options)
                .value();
        return ok();
      }));
  for (std::size_t n = 0; n < 2; ++n) {
    const auto heads = target_.heads()[n];
    ASSERT_EQ(heads.empty(), maps[n].size() == 0);
    for (std::size_t at = 0; at < heads.size(); ++at) {
      double total = 0;
      for (std::size_t j = 0; j < kText.size(); ++j) {
        double column = 0;
        for (std::size_t i = 0; i < kText.size(); ++i) {
          const double product = plain_product(n, heads[at], i, j);
          EXPECT_NEAR(maps[n](0, at, i, j), product, 1e-5);
          column += product;
        }
        EXPECT_NEAR(layers[n].columns(0, at, j), column, 1e-5);
        total += column;
      }
      EXPECT_NEAR(layers[n].totals(0, at), total, 1e-5);
    }
  }
}

TEST_P(TokenTargetTest, IntegratedGatesAreComplete) {
  const GatedModel model = target_.gated(kText);
  const double whole = plain_value(kOnes);
  const auto all = integrated_gates(model, 0).value();
  double sum = 0;
  for (const auto& layer : all) {
    sum += std::reduce(layer.begin(), layer.end());
  }
  EXPECT_NEAR(sum, whole - plain_value(Rows(2, {0, 0, 0})), 1e-5);
  const auto each =
      integrated_gates(model, 0, {.path = GatePath::each_layer}).value();
  for (std::size_t n = 0; n < 2; ++n) {
    Rows without = kOnes;
    without[n] = {0, 0, 0};
    EXPECT_NEAR(std::reduce(each[n].begin(), each[n].end()),
                whole - plain_value(without), 1e-5);
  }
  EXPECT_EQ(model.losses(0, 1, {}).value(),
            std::vector<double>{target_.value(kText, {}).value()});
}

TEST_P(TokenTargetTest, TheTokenIsThePredictedOneUnlessGiven) {
  const auto& [position, token] = GetParam().options;
  EXPECT_EQ(target_.position(), position.value_or(kText.size() - 1));
  if (token) {
    EXPECT_EQ(target_.token(), *token);
    return;
  }
  const auto logits = model_->logits({kText}).value();
  for (std::size_t c = 0; c < 14; ++c) {
    EXPECT_LE(
        logits(target_.position(), c),
        logits(target_.position(), static_cast<std::size_t>(target_.token())));
  }
}

// Without the reference: from values of the same model, in float32.
TEST(TokenTargetSlopeTest, GradientIsTheSlopeOfTheValueByAGate) {
  const auto owner = small_causal_model();
  const LanguageModel& model = *owner;
  const auto target = TokenTarget::create(model, kText, {.token = 7}).value();
  const auto layers = target.gradient_attention_of(kText).value();
  for (const HeadId& id : {HeadId{0, 1}, HeadId{1, 2}}) {
    const auto value_with = [&](float gate) {
      std::vector<Tensor<float, 1>> gates;
      for (int n = 0; n < 2; ++n) {
        gates.push_back(filled<float, 1>({3}, 1));
      }
      gates[id.layer](id.head) = gate;
      return target.value(kText, gates).value();
    };
    EXPECT_NEAR(layers[id.layer].totals(0, id.head),
                (value_with(1.03125f) - value_with(0.96875f)) / 0.0625, 1e-3);
  }
}

TEST(TokenTargetErrorsTest, NameWhatTheModelOrTheTextLacks) {
  const auto owner = small_causal_model();
  const LanguageModel& model = *owner;
  const auto with = [&](const TokenTargetOptions& options) {
    return TokenTarget::create(model, {5, 6}, options);
  };
  EXPECT_THAT(with({.position = 2}),
              IsError(ErrorCode::out_of_range, "position"));
  EXPECT_THAT(with({.token = 14}), IsError(ErrorCode::out_of_range, "token"));
  EXPECT_THAT(with({.token = -1}), IsError(ErrorCode::out_of_range, "token"));
  EXPECT_THAT(TokenTarget::create(model, {}),
              IsError(ErrorCode::invalid_argument, "text"));
  EXPECT_THAT(with({.position = 1})->gradient_attention_of({5}),
              IsError(ErrorCode::out_of_range, "position"));
}

// Where one logit is NaN, none is the largest.
TEST(TokenTargetErrorsTest, RefuseToPredictFromLogitsThatOverflow) {
  Transformer overflowing = small_causal_transformer();
  ASSERT_TRUE(overflowing.update(
      [](std::string_view name, std::span<float> values) -> Status {
        if (name == "unembedding.weight") {
          std::ranges::fill(values.last(12), 3e38F);  // of token 13
        }
        return ok();
      }));
  const auto model = with_words(std::move(overflowing));
  EXPECT_THAT(TokenTarget::create(*model, {5, 6}),
              IsError(ErrorCode::bad_data, "model"));
  EXPECT_TRUE(TokenTarget::create(*model, {5, 6}, {.token = 7}));
}

}  // namespace
}  // namespace headwise::testing_support
