#include "headwise/heads/text_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/copy_of.h"
#include "models/small_causal.h"

namespace headwise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::small_causal_model;

ModelTokens some_tokens() { return {.ids = {7, 9, 7, 3, 5}}; }

TEST(TextViewTest, LayersHaveTheHeadsOfTheModelAndTheStepsOfItsPass) {
  const CausalModel model = small_causal_model();
  const TextView view = TextView::create(model, some_tokens()).value();
  std::vector<Tensor<float, 3>> inputs;
  ASSERT_TRUE(model.run(
      {some_tokens().ids},
      {.before_each = [&](std::size_t, TensorView<const float, 3> hidden) {
        inputs.push_back(copy_of(hidden).value());
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
  const CausalModel model = small_causal_model();
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
  const CausalModel model = small_causal_model();
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
  const CausalModel model = small_causal_model();
  const TextView view = TextView::create(model, some_tokens()).value();
  ViewPage page = ViewPage::create(view.settings("Mine")).value();
  ASSERT_TRUE(view.visit(
      {}, [&](const ViewedLayer& layer) { return page.add(layer); }));
  const std::string html = page.html().value();
  EXPECT_THAT(html, HasSubstr("<title>Mine</title>"));
  EXPECT_THAT(html, HasSubstr("\"measures\":[\"norm\"]"));
  EXPECT_THAT(html, HasSubstr("\"step\":\"masked_scores\""));
}

TEST(TextViewTest, ATextWithoutTokensIsRefused) {
  const CausalModel model = small_causal_model();
  EXPECT_EQ(TextView::create(model, ModelTokens{}).error().details().argument,
            "text");
}

}  // namespace
}  // namespace headwise
