#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "headwise/module/optimizer.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr double kLn2 = 0.69314718055994531;

TensorView<const std::int64_t, 1> targets_of(
    const std::vector<std::int64_t>& targets) {
  return {targets.data(), {targets.size()}};
}

std::vector<double> doubles(const Tensor<float, 2>& tensor) {
  return {tensor.elements().begin(), tensor.elements().end()};
}

double cross_entropy_in_double(const std::vector<double>& logits,
                               const std::vector<std::int64_t>& targets) {
  const std::size_t C = logits.size() / targets.size();
  double sum = 0;
  int count = 0;
  for (std::size_t n = 0; n < targets.size(); ++n) {
    if (targets[n] == kIgnoredTarget) {
      continue;
    }
    double exponentials = 0;
    for (std::size_t c = 0; c < C; ++c) {
      exponentials += std::exp(logits[n * C + c]);
    }
    sum += std::log(exponentials) -
           logits[n * C + static_cast<std::size_t>(targets[n])];
    ++count;
  }
  return sum / count;
}

// d loss / d x[n] by central differences in double.
double slope(std::vector<double> x, std::size_t n,
             const std::function<double(const std::vector<double>&)>& loss) {
  constexpr double kStep = 1e-5;
  const double middle = x[n];
  x[n] = middle + kStep;
  const double above = loss(x);
  x[n] = middle - kStep;
  return (above - loss(x)) / (2 * kStep);
}

TEST(CrossEntropyTest, LossAndGradientAreThoseInDouble) {
  const auto logits = uniform<2>({7, 5}, 1, -4, 4);
  const std::vector<std::int64_t> targets = {0, 4, -100, 2, 2, -100, 3};
  const auto result = cross_entropy(logits, targets_of(targets)).value();
  const auto loss = [&](const std::vector<double>& x) {
    return cross_entropy_in_double(x, targets);
  };
  const std::vector<double> x = doubles(logits);
  EXPECT_NEAR(result.loss, loss(x), 1e-14);
  for (std::size_t n = 0; n < x.size(); ++n) {
    ASSERT_NEAR(result.d_logits.data()[n], slope(x, n, loss), 1e-8) << n;
  }
}

TEST(CrossEntropyTest, KnownValues) {
  // Equal logits, however large: ln C.
  for (const float level : {0.0f, 3e38f, -3e38f}) {
    const auto logits = filled<float, 2>({2, 4}, level);
    const auto result = cross_entropy(logits, targets_of({1, 3})).value();
    EXPECT_NEAR(result.loss, 2 * kLn2, 1e-15);
    EXPECT_EQ(result.d_logits(0, 0), 0.125f);
    EXPECT_EQ(result.d_logits(0, 1), -0.375f);
  }
  // Sure and right, sure and wrong.
  const auto sure = tensor_of<float, 2>({1, 2}, {1000, 0});
  EXPECT_EQ(cross_entropy(sure, targets_of({0})).value().loss, 0);
  EXPECT_EQ(cross_entropy(sure, targets_of({1})).value().loss, 1000);
  // One class: nothing to choose.
  const auto one = filled<float, 2>({1, 1}, -5.0f);
  const auto result = cross_entropy(one, targets_of({0})).value();
  EXPECT_EQ(result.loss, 0);
  EXPECT_EQ(result.d_logits(0, 0), 0);
}

TEST(CrossEntropyTest, AnIgnoredRowIsAsIfItWereNotThere) {
  auto logits = uniform<2>({3, 4}, 1);
  for (std::size_t c = 0; c < 4; ++c) {
    logits(1, c) = std::nanf("");
  }
  const auto result =
      cross_entropy(view_of(logits), targets_of({2, -100, 0})).value();
  const TensorView<const float, 2> two(logits.data(), {2, 4}, {8, 1});
  const auto without = cross_entropy(two, targets_of({2, 0})).value();
  EXPECT_EQ(result.loss, without.loss);
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(result.d_logits(0, c), without.d_logits(0, c));
    EXPECT_EQ(result.d_logits(1, c), 0);
    EXPECT_EQ(result.d_logits(2, c), without.d_logits(1, c));
  }
}

TEST(CrossEntropyTest, NaNGoesOnIntoTheLossAndItsRow) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float bad : {std::nanf("7"), kInf}) {
    auto logits = uniform<2>({2, 3}, 1);
    logits(1, 2) = bad;
    const auto result =
        cross_entropy(view_of(logits), targets_of({0, 1})).value();
    EXPECT_TRUE(std::isnan(result.loss));
    EXPECT_TRUE(std::isfinite(result.d_logits(0, 2)));
    EXPECT_EQ(std::bit_cast<std::uint32_t>(result.d_logits(1, 2)), kNaNBits);
  }
  // A class that cannot be: no share, and an infinite loss where it is right.
  auto logits = uniform<2>({1, 3}, 1);
  logits(0, 1) = -kInf;
  const auto wrong = cross_entropy(view_of(logits), targets_of({0})).value();
  EXPECT_TRUE(std::isfinite(wrong.loss));
  EXPECT_EQ(wrong.d_logits(0, 1), 0);
  const auto right = cross_entropy(view_of(logits), targets_of({1})).value();
  EXPECT_EQ(right.loss, kInf);
}

TEST(MeanSquaredErrorTest, LossAndGradientAreThoseInDouble) {
  const auto prediction = uniform<3>({2, 3, 4}, 1);
  const auto target = uniform<3>({2, 3, 4}, 2);
  const auto result =
      mean_squared_error(view_of(prediction), view_of(target)).value();
  const auto loss = [&](const std::vector<double>& x) {
    double sum = 0;
    for (std::size_t n = 0; n < x.size(); ++n) {
      sum += std::pow(x[n] - target.data()[n], 2);
    }
    return sum / static_cast<double>(x.size());
  };
  const std::vector<double> x(prediction.elements().begin(),
                              prediction.elements().end());
  EXPECT_NEAR(result.loss, loss(x), 1e-15);
  for (std::size_t n = 0; n < x.size(); ++n) {
    ASSERT_NEAR(result.d_prediction.data()[n], slope(x, n, loss), 1e-8) << n;
  }
}

TEST(MeanSquaredErrorTest, KnownValuesAndStrides) {
  const auto prediction = tensor_of<float, 2>({2, 2}, {1, 2, 3, 4});
  const auto target = tensor_of<float, 2>({2, 2}, {1, 0, 0, 4});
  const auto result =
      mean_squared_error(view_of(prediction), view_of(target)).value();
  EXPECT_EQ(result.loss, 13.0 / 4);
  EXPECT_EQ(result.d_prediction(0, 0), 0);
  EXPECT_EQ(result.d_prediction(0, 1), 1);
  EXPECT_EQ(result.d_prediction(1, 0), 1.5f);
  const auto turned = mean_squared_error(view_of(prediction).permuted({1, 0}),
                                         view_of(target).permuted({1, 0}))
                          .value();
  EXPECT_EQ(turned.loss, result.loss);
  EXPECT_EQ(turned.d_prediction(0, 1), 1.5f);
  EXPECT_EQ(turned.d_prediction(1, 0), 1);
  const auto other = tensor_of<float, 2>({2, 2}, {1, 5, 0, 4});
  const auto mixed =
      mean_squared_error(view_of(prediction), view_of(other).permuted({1, 0}))
          .value();
  EXPECT_EQ(mixed.loss, 2);
  EXPECT_EQ(mixed.d_prediction(1, 0), -1);
}

template <class Result>
std::string message_of(const Result& result) {
  return result ? "no error" : result.error().message();
}

TEST(LossErrorsTest, EachNamesWhatIsWrong) {
  const auto logits = uniform<2>({2, 3}, 1);
  EXPECT_EQ(message_of(cross_entropy(logits, targets_of({0}))),
            "cross_entropy: targets has shape (1), expected (N) = (2)");
  EXPECT_EQ(message_of(cross_entropy(logits, targets_of({0, 3}))),
            "cross_entropy: targets[1] is 3, expected a class below C = 3, or "
            "-100");
  EXPECT_EQ(message_of(cross_entropy(logits, targets_of({-1, 0}))),
            "cross_entropy: targets[0] is -1, expected a class below C = 3, or "
            "-100");
  EXPECT_EQ(message_of(cross_entropy(logits, targets_of({-100, -100}))),
            "cross_entropy: targets is ignored in every row, expected at least "
            "one class");
  const auto other = uniform<2>({3, 2}, 1);
  EXPECT_EQ(message_of(mean_squared_error(view_of(logits), view_of(other))),
            "mean_squared_error: target has shape (3, 2), expected that of "
            "prediction = (2, 3)");
  const auto none = Tensor<float, 2>::create({2, 0}).value();
  EXPECT_EQ(message_of(mean_squared_error(view_of(none), view_of(none))),
            "mean_squared_error: prediction is empty, expected at least one "
            "element");
}

}  // namespace
}  // namespace headwise::testing_support
