// Attributions of a small model against its encoder in double.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include "headwise/heads/attribution_target.h"
#include "headwise/heads/integrated_gates.h"
#include "headwise/prune/remove_heads.h"
#include "models/bert_reference.h"
#include "models/small_model.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

using Rows = BertReference::Rows;

const std::vector<std::vector<TokenId>> kTexts = {
    {2, 5, 9, 3}, {2, 13, 0, 1, 5, 6, 7, 8, 3}, {2, 3}};

struct Setting {
  bool labels;
  bool normalize;
  std::vector<HeadId> gone;
};

class EmbeddingTargetTest : public testing::TestWithParam<Setting> {
 protected:
  EmbeddingTargetTest() {
    const Status s = remove_heads(encoder_.encoder(), GetParam().gone,
                                  ConstantPart::dropped);
    EXPECT_TRUE(s);
  }

  SentenceEncoder written() {
    put_small_model(folder_, params_);
    if (GetParam().normalize) {
      put_modules(folder_, R"({"word_embedding_dimension": 12,
                       "pooling_mode_mean_tokens": true})",
                  /*normalize=*/true);
    }
    return SentenceEncoder::read(folder_.path(), {.use = ModelUse::training})
        .value();
  }

  EmbeddingTarget target(const std::vector<TokenId>& text) const {
    return (GetParam().labels
                ? EmbeddingTarget::label(encoder_, probe_, text, 1)
                : EmbeddingTarget::length(encoder_, text))
        .value();
  }

  // The mean of the hidden states in double.
  std::vector<double> plain_mean(const std::vector<TokenId>& text,
                                 const Rows& gates) const {
    BertReference reference(config_, params_);
    Rows all = gates;
    for (const HeadId& head : GetParam().gone) {
      all[head.layer][head.head] = 0;
    }
    reference.set_gates(all);
    const Rows hidden = reference.forward(text);
    std::vector<double> mean(12);
    for (const auto& row : hidden) {
      for (std::size_t e = 0; e < mean.size(); ++e) {
        mean[e] += row[e] / static_cast<double>(hidden.size());
      }
    }
    return mean;
  }
  // F in double.
  double plain_value(const std::vector<TokenId>& text,
                     const Rows& gates) const {
    std::vector<double> y = plain_mean(text, gates);
    const auto length = [](const std::vector<double>& x) {
      double sum = 0;
      for (const double number : x) {
        sum += number * number;
      }
      return std::sqrt(sum);
    };
    if (GetParam().labels) {
      double sum = static_cast<double>(probe_.linear().bias()(1));
      const double norm = GetParam().normalize ? length(y) : 1;
      for (std::size_t e = 0; e < y.size(); ++e) {
        sum +=
            y[e] / norm * static_cast<double>(probe_.linear().weight()(1, e));
      }
      return sum;
    }
    const std::vector<double> whole = plain_mean(text, kOnes);
    double sum = 0;
    for (std::size_t e = 0; e < y.size(); ++e) {
      sum += y[e] * whole[e] / length(whole);
    }
    return sum;
  }

  // The heads of a layer that stay.
  std::vector<std::size_t> heads(std::size_t layer) const {
    return encoder_.encoder().heads_in(layer);
  }

  static inline const Rows kOnes = Rows(2, std::vector<double>(3, 1));

  SmallConfig config_ = small_config(SmallFamily::bert);
  Params params_ = small_params(config_);
  TempFolder folder_;
  SentenceEncoder encoder_ = written();
  LabelProbe probe_ =
      LabelProbe::create(
          Linear::from_params(uniform<2>({3, 12}, 70), uniform<1>({3}, 71))
              .value(),
          {"a", "b", "c"})
          .value();
};

INSTANTIATE_TEST_SUITE_P(
    Settings, EmbeddingTargetTest,
    testing::Values(Setting{false, false, {}}, Setting{false, true, {{0, 1}}},
                    Setting{true, true, {}},
                    Setting{true, false, {{0, 0}, {0, 1}, {0, 2}, {1, 2}}}));

TEST_P(EmbeddingTargetTest, HasTheValueOfTheFormula) {
  for (const auto& text : kTexts) {
    EXPECT_NEAR(target(text).value(text, {}).value(), plain_value(text, kOnes),
                1e-5);
  }
}

// totals are the gradients by the gates, so also central differences in double.
TEST_P(EmbeddingTargetTest, GradientTimesAttentionAddsUpToTheGatesGradient) {
  for (const auto& text : kTexts) {
    const auto layers = target(text).gradient_attention_of(text).value();
    ASSERT_EQ(layers.size(), 2U);
    for (std::size_t n = 0; n < 2; ++n) {
      for (std::size_t at = 0; at < heads(n).size(); ++at) {
        constexpr double kStep = 1e-5;
        Rows more = kOnes;
        Rows less = kOnes;
        more[n][heads(n)[at]] += kStep;
        less[n][heads(n)[at]] -= kStep;
        const double gradient =
            (plain_value(text, more) - plain_value(text, less)) / (2 * kStep);
        EXPECT_NEAR(layers[n].totals(0, at), gradient, 1e-5);
        double sum = 0;
        for (std::size_t j = 0; j < text.size(); ++j) {
          sum += static_cast<double>(layers[n].columns(0, at, j));
        }
        EXPECT_NEAR(sum, gradient, 1e-5);
      }
    }
  }
}

TEST_P(EmbeddingTargetTest, IntegratedGatesAreComplete) {
  for (const auto& text : kTexts) {
    const EmbeddingTarget of_text = target(text);
    const GatedModel model = of_text.gated(text);
    const auto all = integrated_gates(model, 0).value();
    double sum = 0;
    for (const auto& layer : all) {
      sum += std::reduce(layer.begin(), layer.end());
    }
    const Rows zeros(2, std::vector<double>(3, 0));
    EXPECT_NEAR(sum, plain_value(text, kOnes) - plain_value(text, zeros), 1e-5);
    const auto each =
        integrated_gates(model, 0, {.path = GatePath::each_layer}).value();
    for (std::size_t n = 0; n < 2; ++n) {
      Rows without = kOnes;
      without[n] = {0, 0, 0};
      EXPECT_NEAR(std::reduce(each[n].begin(), each[n].end()),
                  plain_value(text, kOnes) - plain_value(text, without), 1e-5);
    }
  }
}

TEST_P(EmbeddingTargetTest, TheLabelIsThePredictedOneUnlessGiven) {
  const auto& text = kTexts[0];
  const auto predicted = EmbeddingTarget::label(encoder_, probe_, text).value();
  ASSERT_TRUE(predicted.label_number());
  const double most = predicted.value(text, {}).value();
  for (std::size_t label = 0; label < 3; ++label) {
    const auto given =
        EmbeddingTarget::label(encoder_, probe_, text, label).value();
    EXPECT_LE(given.value(text, {}).value(), most);
  }
  EXPECT_THAT(EmbeddingTarget::label(encoder_, probe_, text, 3),
              IsError(ErrorCode::out_of_range, "label"));
  EXPECT_THAT(EmbeddingTarget::length(encoder_, {}),
              IsError(ErrorCode::invalid_argument, "text"));
}

TEST(EmbeddingTargetErrorsTest, RefuseOutputsThatOverflow) {
  const TempFolder folder;
  Params params = small_params(small_config(SmallFamily::bert));
  const auto encoder_with = [&](float factor) {
    for (float& x :
         params.at("encoder.layer.1.output.dense.weight").elements()) {
      x *= factor;
    }
    put_small_model(folder, params);
    return SentenceEncoder::read(folder.path()).value();
  };
  // The logit of the last label alone is infinite.
  const auto probe = LabelProbe::create(Linear::from_params(
                                            filled<float, 2>({2, 12}, 0),
                                            tensor_of<float, 1>({2}, {1, kInf}))
                                            .value(),
                                        {"a", "b"})
                         .value();
  const SentenceEncoder fine = encoder_with(1);
  EXPECT_THAT(EmbeddingTarget::label(fine, probe, kTexts[0]),
              IsError(ErrorCode::bad_data, "model"));
  EXPECT_TRUE(EmbeddingTarget::label(fine, probe, kTexts[0], 0));
  EXPECT_TRUE(EmbeddingTarget::length(fine, kTexts[0]));
  EXPECT_THAT(EmbeddingTarget::length(encoder_with(3e38F), kTexts[0]),
              IsError(ErrorCode::bad_data, "model"));
}

}  // namespace
}  // namespace headwise::testing_support
