#include "headwise/module/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> numbers(std::size_t count, std::uint32_t stream) {
  const auto tensor = uniform<1>({count}, stream);
  return {tensor.elements().begin(), tensor.elements().end()};
}

// The gradients of step t.
std::vector<float> gradient_of(std::size_t count, std::uint64_t t) {
  return numbers(count, 100 + static_cast<std::uint32_t>(t));
}

void steps(Optimizer& optimizer, std::vector<float>& x, int count) {
  for (int n = 0; n < count; ++n) {
    optimizer.begin_step();
    const auto g = gradient_of(x.size(), optimizer.step());
    ASSERT_TRUE(optimizer.update("x", x, g));
  }
}

// What the formulas give in binary64 throughout.
template <class Step>
std::vector<double> oracle(const std::vector<float>& start, int count,
                           const Step& step) {
  std::vector<double> x(start.begin(), start.end());
  std::vector<double> a(x.size());
  std::vector<double> b(x.size());
  for (int t = 1; t <= count; ++t) {
    const auto g = gradient_of(x.size(), static_cast<std::uint64_t>(t));
    for (std::size_t n = 0; n < x.size(); ++n) {
      step(t, x[n], g[n], a[n], b[n]);
    }
  }
  return x;
}

void expect_near(const std::vector<float>& x, const std::vector<double>& y) {
  for (std::size_t n = 0; n < x.size(); ++n) {
    ASSERT_NEAR(x[n], y[n], 1e-6 * (1 + std::abs(y[n]))) << n;
  }
}

// ---- The formulas. ----

TEST(OptimizerTest, SgdIsItsFormula) {
  for (const double momentum : {0.0, 0.9}) {
    Optimizer optimizer = Optimizer::create(SgdConfig{.learning_rate = 0.05,
                                                      .momentum = momentum,
                                                      .weight_decay = 0.1})
                              .value();
    std::vector<float> x = numbers(37, 1);
    const auto expected =
        oracle(x, 25, [=](int, double& v, double g, double& b, double&) {
          g += 0.1 * v;
          b = momentum * b + g;
          v -= 0.05 * b;
        });
    steps(optimizer, x, 25);
    expect_near(x, expected);
  }
}

TEST(OptimizerTest, AdamWIsItsFormula) {
  Optimizer optimizer = Optimizer::create(AdamWConfig{.learning_rate = 0.02,
                                                      .beta1 = 0.8,
                                                      .beta2 = 0.95,
                                                      .epsilon = 1e-6,
                                                      .weight_decay = 0.3})
                            .value();
  std::vector<float> x = numbers(37, 1);
  const auto expected =
      oracle(x, 25, [](int t, double& p, double g, double& m, double& v) {
        p -= 0.02 * 0.3 * p;
        m = 0.8 * m + 0.2 * g;
        v = 0.95 * v + 0.05 * g * g;
        const double denominator =
            std::sqrt(v) / std::sqrt(1 - std::pow(0.95, t)) + 1e-6;
        p -= 0.02 / (1 - std::pow(0.8, t)) * m / denominator;
      });
  steps(optimizer, x, 25);
  expect_near(x, expected);
}

TEST(OptimizerTest, KnownSteps) {
  Optimizer sgd =
      Optimizer::create(SgdConfig{.learning_rate = 0.125, .momentum = 0.5})
          .value();
  std::vector<float> x = {1};
  sgd.begin_step();
  ASSERT_TRUE(sgd.update("x", x, std::vector<float>{2}));
  EXPECT_EQ(x[0], 0.75f);  // 1 - 0.125 * 2
  sgd.begin_step();
  ASSERT_TRUE(sgd.update("x", x, std::vector<float>{2}));
  EXPECT_EQ(x[0], 0.375f);  // 0.75 - 0.125 * (0.5 * 2 + 2)

  // The first step of AdamW is lr, whatever the gradient's size; then the
  // decay moves what has no gradient.
  for (const float g : {1e-3f, -1.0f, 1e6f}) {
    Optimizer adamw =
        Optimizer::create(
            AdamWConfig{.learning_rate = 0.25, .epsilon = 0, .weight_decay = 0})
            .value();
    x = {1};
    adamw.begin_step();
    ASSERT_TRUE(adamw.update("x", x, std::vector<float>{g}));
    EXPECT_NEAR(x[0], g > 0 ? 0.75 : 1.25, 1e-6);
  }
  Optimizer decay =
      Optimizer::create(AdamWConfig{.learning_rate = 0.5, .weight_decay = 0.5})
          .value();
  x = {1};
  decay.begin_step();
  ASSERT_TRUE(decay.update("x", x, std::vector<float>{0}));
  EXPECT_EQ(x[0], 0.75f);
}

// ---- Going on. ----

TEST(OptimizerTest, AfterItsStateWasSetItGoesOnAsIfItHadNotStopped) {
  const auto check = [](const auto& config, std::size_t entries) {
    Optimizer whole = Optimizer::create(config).value();
    std::vector<float> x = numbers(19, 1);
    steps(whole, x, 9);
    Optimizer first = Optimizer::create(config).value();
    std::vector<float> y = numbers(19, 1);
    steps(first, y, 4);
    const OptimizerState state = first.state().value();
    EXPECT_EQ(state.step, 4u);
    EXPECT_EQ(state.values.size(), entries);
    Optimizer second = Optimizer::create(config).value();
    ASSERT_TRUE(second.set_state(state));
    steps(second, y, 5);
    EXPECT_TRUE(same_bits(x, y));
  };
  check(SgdConfig{}, 0);
  check(SgdConfig{.momentum = 0.9}, 1);
  check(AdamWConfig{}, 2);
}

TEST(OptimizerTest, StateIsKnownByKindAndName) {
  Optimizer adamw = Optimizer::create(AdamWConfig{}).value();
  std::vector<float> x = numbers(3, 1);
  steps(adamw, x, 1);
  const OptimizerState state = adamw.state().value();
  ASSERT_EQ(state.values.size(), 2u);
  const float g = gradient_of(3, 1)[2];
  EXPECT_NEAR(state.values.at("exp_avg/x")(2), 0.1 * g, 1e-7);
  EXPECT_NEAR(state.values.at("exp_avg_sq/x")(2), 0.001 * g * g, 1e-9);
}

// ---- Errors. ----

template <class Result>
std::string message_of(const Result& result) {
  return result ? "no error" : result.error().message();
}

TEST(OptimizerErrorsTest, ASettingThatMakesNoSense) {
  const double nan = std::nan("");
  EXPECT_EQ(message_of(Optimizer::create(SgdConfig{.learning_rate = -1})),
            "optimizer: learning_rate is -1, expected a number from 0 on");
  EXPECT_EQ(message_of(Optimizer::create(SgdConfig{.momentum = nan})),
            "optimizer: momentum is nan, expected a number from 0 on");
  EXPECT_EQ(message_of(Optimizer::create(AdamWConfig{.beta1 = 1})),
            "optimizer: beta1 is 1, expected a number from 0 to less than 1");
  EXPECT_EQ(message_of(Optimizer::create(AdamWConfig{.beta2 = -0.5})),
            "optimizer: beta2 is -0.5, expected a number from 0 to less than "
            "1");
  EXPECT_EQ(message_of(Optimizer::create(AdamWConfig{.epsilon = -1e-8})),
            "optimizer: epsilon is -1e-08, expected a number from 0 on");
  EXPECT_EQ(message_of(Optimizer::create(AdamWConfig{.weight_decay = kInf})),
            "optimizer: weight_decay is inf, expected a number from 0 on");
}

TEST(OptimizerErrorsTest, AWrongUpdateChangesNothing) {
  Optimizer optimizer = Optimizer::create(AdamWConfig{}).value();
  std::vector<float> x = numbers(3, 1);
  const std::vector<float> before = x;
  const std::vector<float> g = numbers(3, 2);
  EXPECT_EQ(message_of(optimizer.update("x", x, g)),
            "optimizer: step is 0, expected begin_step() before update()");
  optimizer.begin_step();
  EXPECT_EQ(message_of(optimizer.update("x", x, numbers(2, 2))),
            "optimizer: gradients.x has shape (2), expected (elements) = "
            "(3)");
  EXPECT_EQ(message_of(optimizer.update("x", x, std::vector{1.0f, kInf, 1.0f})),
            "optimizer: gradients.x[1] is inf in step 1, expected a finite "
            "number");
  EXPECT_EQ(x, before);
  EXPECT_TRUE(optimizer.state().value().values.empty());
  ASSERT_TRUE(optimizer.update("x", x, g));
  const std::vector<float> after = x;
  EXPECT_EQ(message_of(optimizer.update("x", x, g)),
            "optimizer: x is updated already, expected one update in step 1");
  optimizer.begin_step();
  std::vector<float> longer = numbers(4, 1);
  EXPECT_EQ(message_of(optimizer.update("x", longer, numbers(4, 2))),
            "optimizer: x has shape (4), expected (elements) of the steps "
            "before = (3)");
  EXPECT_EQ(x, after);
}

TEST(OptimizerErrorsTest, AGradientThatIsNotFiniteMayBeAllowed) {
  Optimizer optimizer =
      Optimizer::create(SgdConfig{.finite_gradients = false}).value();
  std::vector<float> x = {1, 2};
  optimizer.begin_step();
  ASSERT_TRUE(optimizer.update("x", x, std::vector<float>{kInf, 0}));
  EXPECT_EQ(x[0], -kInf);
  EXPECT_EQ(x[1], 2);
}

OptimizerState state_of(
    const std::vector<std::pair<std::string, std::size_t>>& entries) {
  OptimizerState state{3, {}};
  for (const auto& [name, size] : entries) {
    state.values.emplace(name, uniform<1>({size}, 1));
  }
  return state;
}

TEST(OptimizerErrorsTest, StateOfAnotherOptimiser) {
  Optimizer plain = Optimizer::create(SgdConfig{}).value();
  EXPECT_EQ(
      message_of(plain.set_state(state_of({{"momentum_buffer/x", 2}}))),
      "optimizer: state.values has momentum_buffer/x, which this optimiser "
      "does not, expected none");
  Optimizer sgd = Optimizer::create(SgdConfig{.momentum = 0.5}).value();
  EXPECT_EQ(message_of(sgd.set_state(state_of({{"exp_avg/x", 2}}))),
            "optimizer: state.values has exp_avg/x, which this optimiser does "
            "not, expected "
            "momentum_buffer/NAME");
  Optimizer adamw = Optimizer::create(AdamWConfig{}).value();
  EXPECT_EQ(message_of(adamw.set_state(state_of({{"exp_avg", 2}}))),
            "optimizer: state.values has exp_avg, which this optimiser does "
            "not, expected "
            "exp_avg/NAME and exp_avg_sq/NAME");
  EXPECT_EQ(message_of(adamw.set_state(state_of({{"exp_avg_sq/x", 2}}))),
            "optimizer: state.values has exp_avg_sq/x, expected exp_avg/x too");
  EXPECT_EQ(message_of(adamw.set_state(
                state_of({{"exp_avg/x", 2}, {"exp_avg_sq/x", 3}}))),
            "optimizer: exp_avg_sq/x has shape (3), expected that of exp_avg/x "
            "= (2)");
  EXPECT_EQ(adamw.step(), 0u);
  // Set rightly, it knows the size.
  ASSERT_TRUE(
      adamw.set_state(state_of({{"exp_avg/x", 2}, {"exp_avg_sq/x", 2}})));
  adamw.begin_step();
  std::vector<float> x = numbers(3, 1);
  EXPECT_EQ(message_of(adamw.update("x", x, numbers(3, 2))),
            "optimizer: x has shape (3), expected (elements) of the steps "
            "before = (2)");
}

// ---- Clipping. ----

TEST(ClipGradientNormTest, AllGradientsAreScaledByOneFactor) {
  std::vector<float> a = {3, 0};
  std::vector<float> b = {-4};
  const std::vector<std::span<float>> both = {a, b};
  EXPECT_EQ(clip_gradient_norm(both, 10).value(), 5);
  EXPECT_EQ(a, (std::vector<float>{3, 0}));  // small enough
  EXPECT_EQ(clip_gradient_norm(both, 1).value(), 5);
  EXPECT_NEAR(a[0], 0.6, 1e-6);
  EXPECT_NEAR(b[0], -0.8, 1e-6);
  EXPECT_LT(std::hypot(a[0], b[0]), 1);  // by PyTorch's 1e-6
  EXPECT_EQ(clip_gradient_norm({}, 1).value(), 0);
}

TEST(ClipGradientNormTest, Errors) {
  std::vector<float> a = {3, 0};
  std::vector<float> b = {1, std::nanf("")};
  const std::vector<std::span<float>> both = {a, b};
  EXPECT_EQ(message_of(clip_gradient_norm(both, 0)),
            "clip_gradient_norm: max_norm is 0, expected a number greater than "
            "0");
  EXPECT_EQ(message_of(clip_gradient_norm(both, 1)),
            "clip_gradient_norm: gradients[1][1] is nan, expected a finite "
            "number");
  EXPECT_EQ(a[0], 3);
}

}  // namespace
}  // namespace headwise::testing_support
