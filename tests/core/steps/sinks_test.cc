#include "headwise/steps/sinks.h"

#include <cmath>

#include "headwise/steps/softmax.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

const AttentionShape kShape = {
    .B = 1, .Hq = 2, .Hkv = 2, .Lq = 2, .Lkv = 2, .D = 1, .Dv = 1};

// Valid as long as the tensor is.
BoundSinks bound(const Tensor<float, 1>& sinks) {
  return BoundSinks::bind(view_of(sinks), {kShape, {}, "test"}).value();
}

struct Softmax {
  Tensor<float, 4> attn_weights = filled<float, 4>({1, 2, 2, 2}, 42);
  Tensor<float, 3> lse = filled<float, 3>({1, 2, 2}, 42);

  Status run(const Tensor<float, 4>& scores, const Tensor<float, 1>& sinks,
             EmptyRow empty_rows = EmptyRow::zero) {
    return run(scores, bound(sinks), empty_rows);
  }
  Status run(const Tensor<float, 4>& scores, const BoundSinks& sinks,
             EmptyRow empty_rows = EmptyRow::zero) {
    return softmax(view_of(scores), sinks, empty_rows, attn_weights, lse,
                   Executor::default_executor());
  }
};

TEST(SinksTest, JoinTheSoftmaxOfTheirHead) {
  const auto scores =
      tensor_of<float, 4>({1, 2, 2, 2}, {0, 1, -2, 3, 0, 1, -2, 3});
  Softmax out;
  EXPECT_TRUE(out.run(scores, tensor_of<float, 1>({2}, {1, -30})));
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t i = 0; i < 2; ++i) {
      const double sum = std::exp(h == 0 ? 1.0 : -30.0) +
                         std::exp(double{scores(0, h, i, 0)}) +
                         std::exp(double{scores(0, h, i, 1)});
      EXPECT_NEAR(out.lse(0, h, i), std::log(sum), 1e-6);
      EXPECT_NEAR(out.attn_weights(0, h, i, 0),
                  std::exp(double{scores(0, h, i, 0)}) / sum, 1e-7);
    }
  }
}

TEST(SinksTest, TakeAllOfARowWithoutAKey) {
  const auto scores = filled<float, 4>({1, 2, 2, 2}, kMinusInf);
  for (const EmptyRow empty_rows :
       {EmptyRow::zero, EmptyRow::uniform, EmptyRow::nan}) {
    Softmax out;
    EXPECT_TRUE(
        out.run(scores, tensor_of<float, 1>({2}, {2.5f, -7}), empty_rows));
    EXPECT_THAT(out.attn_weights.elements(), Each(0.0f));
    EXPECT_THAT(out.lse.elements(), testing::ElementsAre(2.5f, 2.5f, -7, -7));
  }
}

TEST(SinksTest, OfMinusInfinityAreNone) {
  const auto sinks = tensor_of<float, 1>({2}, {kMinusInf, 0});
  const BoundSinks some = bound(sinks);
  EXPECT_TRUE(some.given());
  EXPECT_FALSE(some.has(0));
  EXPECT_TRUE(some.has(1));
  EXPECT_FALSE(BoundSinks().given());
  EXPECT_FALSE(BoundSinks().has(0));
  const auto scores = filled<float, 4>({1, 2, 2, 2}, kMinusInf);
  Softmax out;
  EXPECT_TRUE(
      out.run(scores, filled<float, 1>({2}, kMinusInf), EmptyRow::uniform));
  EXPECT_THAT(out.attn_weights.elements(), Each(0.5f));
  EXPECT_THAT(out.lse.elements(), Each(kMinusInf));
}

TEST(SinksTest, ErrorsNameThem) {
  const auto bind = [](const Tensor<float, 1>& sinks) {
    return BoundSinks::bind(view_of(sinks), {kShape, {}, "test"});
  };
  const char* expected = "a number from -2e38 to 2e38, or -inf for no sink";
  EXPECT_THAT(bind(tensor_of<float, 1>({2}, {0, kNaN})),
              IsAbout("sinks[1]", "nan", expected));
  EXPECT_THAT(bind(tensor_of<float, 1>({2}, {-kMinusInf, 0})),
              IsAbout("sinks[0]", "inf", expected));
  EXPECT_THAT(bind(tensor_of<float, 1>({2}, {0, -2.1e38f})),
              IsAbout("sinks[1]", "-2.09999992e+38", expected));
  const auto three = bind(filled<float, 1>({3}, 1));
  ASSERT_FALSE(three);
  EXPECT_EQ(three.error().message(),
            "test: sinks has shape (3), expected (Hq) = (2)");
}

TEST(SinksTest, ThatDoNotFitTheScoresOrShareMemoryAreErrors) {
  const auto scores = filled<float, 4>({1, 2, 2, 2}, 0);
  const auto three = filled<float, 1>({3}, 0);
  Softmax out;
  const AttentionShape wide = {
      .B = 1, .Hq = 3, .Hkv = 3, .Lq = 2, .Lkv = 2, .D = 1, .Dv = 1};
  const Status other = out.run(
      scores, BoundSinks::bind(view_of(three), {wide, {}, "test"}).value());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message(),
            "softmax: sinks has shape (3), expected (Hq) = (2)");
  out.lse = filled<float, 3>({1, 2, 2}, 0);
  const Status shared = out.run(
      scores,
      BoundSinks::bind({out.lse.data(), {2}}, {kShape, {}, "test"}).value());
  EXPECT_FALSE(shared);
  EXPECT_THAT(out.attn_weights.elements(), Each(42.0f));
}

}  // namespace
}  // namespace headwise::testing_support
