#include "headwise/heads/integrated_gates.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"

namespace headwise::testing_support {
namespace {

// F = exp(a + b c) + a^2 c of the gates a, b of layer 0 and c of layer 1.
GatedModel model_by_hand() {
  GatedModel model;
  model.heads = {{0, 3}, {1}};
  model.examples = 2;
  model.gradients =
      [](std::size_t begin, std::size_t,
         HeadGateSpan gates) -> Result<std::vector<Tensor<float, 2>>> {
    const double a = static_cast<double>(gates[0](0));
    const double b = static_cast<double>(gates[0](1));
    const double c = static_cast<double>(gates[1](0));
    const double times = begin == 0 ? 1 : 2;  // the second example is twice F
    const double e = std::exp(a + b * c);
    std::vector<Tensor<float, 2>> gradients;
    gradients.push_back(Tensor<float, 2>::create({1, 2}).value());
    gradients.push_back(Tensor<float, 2>::create({1, 1}).value());
    gradients[0](0, 0) = static_cast<float>(times * (e + 2 * a * c));
    gradients[0](0, 1) = static_cast<float>(times * c * e);
    gradients[1](0, 0) = static_cast<float>(times * (b * e + a * a));
    return gradients;
  };
  return model;
}

TEST(IntegratedGatesTest, OfAllLayersAddUpToWhatAllHeadsDo) {
  const auto parts = integrated_gates(model_by_hand(), 0).value();
  ASSERT_EQ(parts.size(), 2U);
  ASSERT_EQ(parts[0].size(), 2U);
  EXPECT_NEAR(parts[0][0] + parts[0][1] + parts[1][0], std::exp(2) + 1 - 1,
              1e-6);
  // int t e^(t + t^2) dt from 0 to 1, once for b and once for c; c also has
  // int t^2 dt.
  EXPECT_NEAR(parts[1][0] - parts[0][1], 1.0 / 3, 1e-6);
}

// Layer 0 with c = 1: int e^(2t) + 2t dt and int e^(2t) dt.
// Layer 1 with a = b = 1: int e^(1 + t) + 1 dt.
TEST(IntegratedGatesTest, OfOneLayerAddUpToWhatItsHeadsDo) {
  const auto parts =
      integrated_gates(model_by_hand(), 0, {.path = GatePath::each_layer})
          .value();
  const double half = (std::exp(2) - 1) / 2;
  EXPECT_NEAR(parts[0][0], half + 1, 1e-6);
  EXPECT_NEAR(parts[0][1], half, 1e-6);
  EXPECT_NEAR(parts[1][0], std::exp(2) - std::exp(1) + 1, 1e-6);
}

TEST(IntegratedGatesTest, AreThoseOfTheExample) {
  const auto one = integrated_gates(model_by_hand(), 0).value();
  const auto two = integrated_gates(model_by_hand(), 1).value();
  EXPECT_DOUBLE_EQ(two[0][0], 2 * one[0][0]);
}

TEST(IntegratedGatesTest, PassOverALayerWithoutHeads) {
  const auto passes = [](std::vector<std::vector<std::size_t>> heads) {
    std::size_t count = 0;
    GatedModel model;
    model.heads = std::move(heads);
    model.examples = 1;
    model.losses = [](std::size_t, std::size_t, HeadGateSpan) {
      return std::vector<double>{0};
    };
    model.gradients = [&](std::size_t, std::size_t, HeadGateSpan gates) {
      ++count;
      std::vector<Tensor<float, 2>> by;
      for (const auto& layer : gates) {
        by.push_back(Tensor<float, 2>::create({1, layer.size()}).value());
      }
      return by;
    };
    EXPECT_TRUE(integrated_gates(model, 0, {.path = GatePath::each_layer}));
    return count;
  };
  EXPECT_EQ(passes({{0, 1}, {}}), passes({{0, 1}}));
  EXPECT_EQ(passes({{}}), 0U);
}

TEST(IntegratedGatesTest, RefuseWhatIsMissing) {
  EXPECT_THAT(integrated_gates(model_by_hand(), 2),
              IsError(ErrorCode::out_of_range, "example"));
  EXPECT_THAT(integrated_gates(model_by_hand(), 0, {.panels = 0}),
              IsError(ErrorCode::invalid_argument, "panels"));
  GatedModel without = model_by_hand();
  without.gradients = nullptr;
  EXPECT_THAT(integrated_gates(without, 0),
              IsError(ErrorCode::invalid_argument, "model.gradients"));
}

}  // namespace
}  // namespace headwise::testing_support
