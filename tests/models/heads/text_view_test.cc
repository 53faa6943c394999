#include "headwise/heads/text_view.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/copy_of.h"
#include "models/small_causal.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

ModelTokens some_tokens() { return {.ids = {7, 9, 7, 3, 5}}; }

TEST(TextViewTest, LayersHaveTheHeadsOfTheModelAndTheStepsOfItsPass) {
  const auto owner = small_causal_model();
  const LanguageModel& model = *owner;
  const TextView view = TextView::create(model, some_tokens()).value();
  std::vector<Tensor<float, 3>> inputs;
  ASSERT_TRUE(model.run(
      {some_tokens().ids},
      {.before_each = [&](std::size_t, TensorView<const float, 3> hidden) {
        inputs.push_back(headwise::copy_of(hidden).value());
        return ok();
      }}));
  std::size_t seen = 0;
  ASSERT_TRUE(view.visit({}, [&](const ViewedLayer& layer) {
    EXPECT_EQ(layer.number, seen);
    // What enters the layer is normed first.
    const auto& q = layer.steps[1];
    EXPECT_EQ(layer.steps.front().name, "hidden");
    EXPECT_EQ(q.name, "q");
    EXPECT_EQ(layer.steps.back().name, "output");
    EXPECT_FALSE(q.has_data());
    double largest = layer.query(0, 0, 0, 0);
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t h = 0; h < 3; ++h) {
        for (std::size_t d = 0; d < 4; ++d) {
          largest =
              std::max(largest, static_cast<double>(layer.query(0, i, h, d)));
        }
      }
    }
    EXPECT_EQ(summarize(q).max, largest);
    EXPECT_EQ(summarize(layer.steps.front()).count, inputs[seen].size());
    EXPECT_EQ(layer.key_norms.extents(), (Extents<3>{1, 3, 5}));
    ++seen;
    return ok();
  }));
  EXPECT_EQ(seen, 2u);
}

TEST(TextViewTest, OnlyLayersAndPartsThatAreWantedAreShown) {
  const auto owner = small_causal_model();
  const LanguageModel& model = *owner;
  const TextView view = TextView::create(model, some_tokens()).value();
  const std::vector<std::size_t> layers = {1};
  std::vector<std::size_t> seen;
  ASSERT_TRUE(view.visit({.layers = layers, .steps = false, .norms = false},
                         [&](const ViewedLayer& layer) {
                           seen.push_back(layer.number);
                           EXPECT_TRUE(layer.steps.empty());
                           EXPECT_EQ(layer.key_norms.data(), nullptr);
                           return ok();
                         }));
  EXPECT_THAT(seen, ElementsAre(1));
}

TEST(TextViewTest, AnErrorEndsThePass) {
  const auto owner = small_causal_model();
  const LanguageModel& model = *owner;
  const TextView view = TextView::create(model, some_tokens()).value();
  std::size_t seen = 0;
  const Status s = view.visit({}, [&](const ViewedLayer&) -> Status {
    ++seen;
    return value_error("text_view_test", "layer", "seen", "none");
  });
  EXPECT_EQ(s.error().details().argument, "layer");
  EXPECT_EQ(seen, 1u);
}

TEST(TextViewTest, ItsPageIsThatOfTheLayers) {
  const auto owner = small_causal_model();
  const LanguageModel& model = *owner;
  const TextView view = TextView::create(model, some_tokens()).value();
  ViewPage page = ViewPage::create(view.settings("Mine")).value();
  ASSERT_TRUE(view.visit(
      {}, [&](const ViewedLayer& layer) { return page.add(layer); }));
  const std::string html = page.html().value();
  EXPECT_THAT(html, HasSubstr("<title>Mine</title>"));
  EXPECT_THAT(html, HasSubstr("\"measures\":[\"norm\"]"));
  EXPECT_THAT(html, HasSubstr("\"step\":\"masked_scores\""));
}

TEST(TextViewTest, ALongTextIsCutAndSaysSo) {
  const auto owner = small_causal_model();
  const LanguageModel& model = *owner;
  const TextView view =
      TextView::create(model, "heads matter we see a head why heads matter")
          .value();
  EXPECT_EQ(view.labels().size(), model.shape().max_tokens);
  EXPECT_EQ(view.cut(), 9 - model.shape().max_tokens);
}

TEST(TextViewTest, GatesAreFactorsOfTheNorms) {
  const auto owner = small_causal_model();
  const LanguageModel& model = *owner;
  std::vector<Tensor<float, 1>> gates;
  for (std::size_t layer = 0; layer < 2; ++layer) {
    gates.push_back(Tensor<float, 1>::create({3}).value());
    std::ranges::fill(gates.back().elements(), 1.0F);
  }
  gates[0](1) = -2;
  const TextView whole = TextView::create(model, some_tokens()).value();
  const TextView gated =
      TextView::create(model, some_tokens(), std::move(gates)).value();
  const std::vector<std::size_t> layers = {0};
  Tensor<float, 3> norms;
  const auto keep = [&](const ViewedLayer& layer) {
    norms = headwise::copy_of(layer.key_norms).value();
    return ok();
  };
  ASSERT_TRUE(whole.visit({.layers = layers}, keep));
  const Tensor<float, 3> before = std::move(norms);
  ASSERT_TRUE(gated.visit({.layers = layers}, keep));
  for (std::size_t j = 0; j < 5; ++j) {
    EXPECT_EQ(norms(0, 0, j), before(0, 0, j));
    EXPECT_EQ(norms(0, 1, j), 2 * before(0, 1, j));
  }
}

// With more tokens than a page has pairs for, the mean over a cell's pairs of
// attention weight times norm.
TEST(TextViewTest, ManyTokensHaveAMapOfNorms) {
  CausalSizes config = kSmallCausal;
  config.max_positions = 1030;
  const auto owner = small_causal_model(config);
  const LanguageModel& model = *owner;
  ModelTokens tokens;
  for (TokenId t = 0; t < 1030; ++t) {
    tokens.ids.push_back(t % 11);
  }
  const TextView view = TextView::create(model, std::move(tokens)).value();
  const std::vector<std::size_t> layers = {1};
  for (const bool wanted : {true, false}) {
    ASSERT_TRUE(view.visit(
        {.layers = layers, .norm_map = wanted}, [&](const ViewedLayer& layer) {
          EXPECT_EQ(layer.norm_map.data() != nullptr, wanted);
          if (wanted) {
            // The first cell's queries see few keys.
            EXPECT_GT(layer.norm_map(0, 0, 0, 0), 0);
            EXPECT_EQ(layer.norm_map(0, 0, 0, 63), 0);
          }
          return ok();
        }));
  }
}

TEST(TextViewTest, WhatTheModelDoesNotHaveIsNamed) {
  const auto owner = small_causal_model();
  const LanguageModel& model = *owner;
  for (const TokenId id : {-1, 14}) {
    EXPECT_THAT(
        TextView::create(model, {.ids = {7, id}}),
        HasError({.code = ErrorCode::out_of_range, .argument = "ids[1]"}));
  }
  const TextView view = TextView::create(model, some_tokens()).value();
  const auto see = [](const ViewedLayer&) { return ok(); };
  EXPECT_THAT(
      view.visit({.layers = std::vector<std::size_t>{0, 2}}, see),
      HasError({.code = ErrorCode::out_of_range, .argument = "layers[1]"}));
  EXPECT_THAT(
      view.visit({.layers = std::vector<std::size_t>{1, 0}}, see),
      HasError({.code = ErrorCode::invalid_argument, .argument = "layers[1]"}));
}

TEST(TextViewTest, ATextWithoutTokensIsRefused) {
  const auto owner = small_causal_model();
  const LanguageModel& model = *owner;
  EXPECT_EQ(TextView::create(model, ModelTokens{}).error().details().argument,
            "text");
}

}  // namespace
}  // namespace headwise::testing_support
