#include "headwise/steps/projection.h"

#include <algorithm>
#include <bit>
#include <span>
#include <stdexcept>

#include "headwise/steps/softmax.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

Linear linear_of(std::size_t in, std::size_t out, bool bias = true) {
  return Linear::create({.in_features = in, .out_features = out, .bias = bias},
                        RandomStream(Seed{7}, 1))
      .value();
}

std::span<const float> weight_of(const Linear& linear) {
  return {linear.weight().data(), linear.weight().size()};
}
std::span<const float> bias_of(const Linear& linear) {
  return {linear.bias().data(), linear.bias().size()};
}

Tensor<double, 3> in_double(const Linear& linear,
                            TensorView<const float, 3> x) {
  const auto [B, L, in] = x.extents();
  auto y = Tensor<double, 3>::create({B, L, linear.out_features()}).value();
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t l = 0; l < L; ++l) {
      for (std::size_t o = 0; o < linear.out_features(); ++o) {
        double sum = linear.has_bias() ? linear.bias()(o) : 0;
        for (std::size_t i = 0; i < in; ++i) {
          sum += double{x(b, l, i)} * double{linear.weight()(o, i)};
        }
        y(b, l, o) = sum;
      }
    }
  }
  return y;
}

TEST(LinearTest, MatchesDoubleForEverySizeAroundABlockOfFeatures) {
  for (const std::size_t in : {1u, 3u, 127u, 128u, 129u, 256u, 700u}) {
    for (const bool bias : {false, true}) {
      const Linear linear = linear_of(in, 5, bias);
      const auto x = uniform<3>({2, 3, in}, 10);
      EXPECT_TRUE(
          all_near(linear.forward(x).value(), in_double(linear, x), 2e-6))
          << in << " features, bias " << bias;
    }
  }
}

// With x = 1 every product is exact, so that nothing but the order of the
// additions shows.
TEST(LinearTest, BlocksOf128FeaturesAreAddedInOrderThenTheBias) {
  constexpr std::size_t kIn = 300;
  const Linear linear = linear_of(kIn, 4);
  const auto y =
      linear.forward(view_of(filled<float, 3>({1, 1, kIn}, 1))).value();
  for (std::size_t o = 0; o < 4; ++o) {
    float blocks[3] = {0, 0, 0};
    for (std::size_t i = 0; i < kIn; ++i) {
      blocks[i / 128] += linear.weight()(o, i);
    }
    const float want = ((blocks[0] + blocks[1]) + blocks[2]) + linear.bias()(o);
    EXPECT_EQ(bits(y(0, 0, o)), bits(want)) << "feature " << o;
  }
}

TEST(LinearTest, TheFirstNumbersOfASeedNeverChange) {
  const Linear linear = linear_of(512, 4);
  EXPECT_THAT(weight_of(linear).first(4),
              ElementsAre(0x1.7c78c6p-9f, 0x1.73e9e6p-7f, -0x1.aefb4ap-15f,
                          -0x1.cc96c4p-8f));
  EXPECT_THAT(bias_of(linear), ElementsAre(-0x1.16a5bap-5f, -0x1.2d43dap-5f,
                                           0x1.80ca3ap-6f, -0x1.9b002ap-6f));
}

TEST(LinearTest, ParametersAreUniformWithinOneByTheRootOfTheInputSize) {
  const Linear linear = linear_of(400, 250);  // bound 1/20, 1e5 numbers
  const auto [low, high] = std::ranges::minmax(weight_of(linear));
  EXPECT_GE(low, -0.05f);
  EXPECT_LT(high, 0.05f);
  EXPECT_LT(low, -0.0499f);
  EXPECT_GT(high, 0.0499f);
  double sum = 0;
  double squares = 0;
  for (const float w : weight_of(linear)) {
    sum += w;
    squares += double{w} * w;
  }
  EXPECT_NEAR(sum / 1e5, 0, 5e-4);
  EXPECT_NEAR(squares / 1e5, 0.05 * 0.05 / 3, 2e-5);
  const auto [bias_low, bias_high] = std::ranges::minmax(bias_of(linear));
  EXPECT_GE(bias_low, -0.05f);
  EXPECT_LT(bias_high, 0.05f);
  EXPECT_GT(bias_high - bias_low, 0.08f);
  // The bias is drawn from numbers of its own.
  EXPECT_FALSE(same_bits(bias_of(linear), weight_of(linear).first(250)));
}

TEST(LinearTest, WithoutABiasThereIsNone) {
  const Linear linear = linear_of(4, 3, false);
  EXPECT_FALSE(linear.has_bias());
  EXPECT_EQ(linear.bias().size(), 0u);
  const auto y =
      linear.forward(view_of(filled<float, 3>({1, 2, 4}, 0))).value();
  EXPECT_THAT(y.elements(), Each(0.0f));
}

TEST(LinearTest, StridedInputsGiveTheSameBits) {
  const Linear linear = linear_of(130, 7);
  const auto x = uniform<3>({2, 3, 130}, 11);
  const auto want = linear.forward(x).value();

  // (L, B, in): the batch in the middle.
  auto middle = Tensor<float, 3>::create({3, 2, 130}).value();
  // Every second feature of a wider tensor, last feature first.
  auto wide = filled<float, 3>({2, 3, 260}, kNaN);
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t l = 0; l < 3; ++l) {
      for (std::size_t i = 0; i < 130; ++i) {
        middle(l, b, i) = x(b, l, i);
        wide(b, l, 2 * (129 - i)) = x(b, l, i);
      }
    }
  }
  EXPECT_TRUE(same_bits(
      linear.forward(view_of(middle).permuted({1, 0, 2})).value(), want));
  const TensorView<const float, 3> backwards(&wide(0, 0, 258), {2, 3, 130},
                                             {780, 260, -2});
  EXPECT_TRUE(same_bits(linear.forward(backwards).value(), want));
}

TEST(LinearTest, ForInferenceItHasHalfTheParametersAndTheSameBits) {
  const Tensor<float, 3> x = uniform<3>({2, 5, 20}, 3);
  const Linear linear = linear_of(20, 33);
  const Tensor<float, 3> y = linear.forward(x).value();
  Linear packed = linear_of(20, 33).for_inference();
  EXPECT_EQ(packed.in_features(), 20u);
  EXPECT_EQ(packed.out_features(), 33u);
  EXPECT_TRUE(packed.has_bias());
  EXPECT_EQ(packed.weight().size(), 0u);
  EXPECT_EQ(packed.bias().size(), 0u);
  packed.update([](std::span<float> weight, std::span<float> bias) {
    EXPECT_TRUE(weight.empty());
    EXPECT_TRUE(bias.empty());
  });
  EXPECT_TRUE(same_bits(packed.forward(x).value(), y));
  for (const Error& error : {packed.backward_input(y).error(),
                             packed.backward_params(x, y).error()}) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_EQ(error.message(),
              "linear: the parameters were kept for inference, expected "
              "a layer that can be trained");
  }
}

TEST(LinearTest, FromRowsItHasTheBitsOfItsWeight) {
  for (const std::size_t out : {1u, 16u, 33u, 80u}) {
    for (const bool bias : {false, true}) {
      const Linear whole = linear_of(20, out, bias);
      const auto fill = [&](std::size_t first,
                            TensorView<float, 2> rows) -> Status {
        std::copy_n(&whole.weight()(first, 0), rows.size(), rows.data());
        return ok();
      };
      const auto x = uniform<3>({1, 3, 20}, 12);
      for (const Arithmetic arithmetic :
           {Arithmetic::exact, Arithmetic::bf16}) {
        auto added = Tensor<float, 1>::create({whole.bias().extent(0)}).value();
        std::ranges::copy(bias_of(whole), added.data());
        const Linear made = Linear::from_rows({20, out, bias}, std::move(added),
                                              arithmetic, fill)
                                .value();
        EXPECT_FALSE(made.keeps_params());
        EXPECT_EQ(made.has_bias(), bias);
        EXPECT_EQ(made.arithmetic(), arithmetic);
        const Linear expected = arithmetic == Arithmetic::exact
                                    ? linear_of(20, out, bias)
                                    : whole.in_bf16().value();
        EXPECT_TRUE(
            same_bits(made.forward(x).value(), expected.forward(x).value()));
      }
    }
  }
}

TEST(LinearTest, FromRowsTheFirstErrorIsReturned) {
  const auto fill = [](std::size_t first, TensorView<float, 2> rows) -> Status {
    std::fill_n(rows.data(), rows.size(), 0.0F);
    return first < 32 ? ok()
                      : Status(Error(ErrorCode::bad_data,
                                     {.operation = "rows",
                                      .given = message("{}", first)}));
  };
  const auto executor = Executor::with_threads(3).value();
  EXPECT_THAT(
      Linear::from_rows({4, 100, false}, {}, Arithmetic::exact, fill, executor),
      HasError(
          {.code = ErrorCode::bad_data, .operation = "rows", .given = {"32"}}));
  EXPECT_THAT(
      Linear::from_rows({4, 100, true}, {}, Arithmetic::exact, fill, executor),
      HasError({.code = ErrorCode::shape_mismatch,
                .operation = "linear",
                .argument = "bias",
                .given = {"(0)"},
                .expected = {"(100)"}}));
}

TEST(LinearTest, InBf16ForInferenceItHasAQuarterOfTheParameters) {
  const Tensor<float, 3> x = uniform<3>({2, 5, 400}, 3);
  const Tensor<float, 3> y =
      linear_of(400, 32).in_bf16().value().forward(x).value();
  const auto bf16_first = linear_of(400, 32).in_bf16().value().for_inference();
  const auto inference_first =
      linear_of(400, 32).for_inference().in_bf16().value();
  for (const Linear* const linear : {&bf16_first, &inference_first}) {
    EXPECT_EQ(linear->arithmetic(), Arithmetic::bf16);
    EXPECT_EQ(linear->in_features(), 400u);
    EXPECT_EQ(linear->out_features(), 32u);
    EXPECT_TRUE(linear->has_bias());
    EXPECT_EQ(linear->weight().size(), 0u);
    EXPECT_EQ(linear->bias().size(), 0u);
    EXPECT_EQ(linear->packed().size(), 200u * 32 + 32);  // and the bias
    EXPECT_TRUE(same_bits(linear->forward(x).value(), y));
    EXPECT_TRUE(same_bits(linear->in_bf16().value().forward(x).value(), y));
    for (const Error& error : {linear->backward_input(y).error(),
                               linear->backward_params(x, y).error(),
                               linear->in_float32().error()}) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      EXPECT_EQ(error.message(),
                "linear: the parameters were kept for inference, expected a "
                "layer that can be trained");
    }
  }
}

TEST(LinearTest, InBf16ItsParametersAreStillThoseThatWereGiven) {
  const Linear linear = linear_of(40, 33);
  const Linear rounded = linear.in_bf16().value();
  EXPECT_EQ(linear.arithmetic(), Arithmetic::exact);
  EXPECT_EQ(rounded.arithmetic(), Arithmetic::bf16);
  EXPECT_TRUE(same_bits(weight_of(rounded), weight_of(linear)));
  EXPECT_TRUE(same_bits(bias_of(rounded), bias_of(linear)));
  const Tensor<float, 3> x = uniform<3>({2, 5, 40}, 3);
  const Linear back = rounded.in_float32().value();
  EXPECT_EQ(back.arithmetic(), Arithmetic::exact);
  EXPECT_TRUE(same_bits(back.forward(x).value(), linear.forward(x).value()));
  EXPECT_TRUE(same_bits(back.in_bf16().value().forward(x).value(),
                        rounded.forward(x).value()));
  EXPECT_TRUE(same_bits(
      linear_of(40, 33).for_inference().in_float32().value().forward(x).value(),
      linear.forward(x).value()));
}

// Sizes around those of strips and of rows that are packed together.
TEST(LinearTest, AnUpdateInBf16ChangesTheGivenNumbersAndThePairs) {
  for (const std::size_t in : {1u, 31u, 32u, 33u, 100u}) {
    for (const std::size_t out : {1u, 16u, 33u}) {
      const Tensor<float, 3> x = uniform<3>({2, 5, in}, 3);
      const auto step = [](std::span<float> weight, std::span<float> bias) {
        std::ranges::for_each(weight, [](float& w) { w *= 1.0009765625f; });
        std::ranges::for_each(bias, [](float& b) { b += 1; });
      };
      Linear exact = linear_of(in, out);
      Linear rounded = exact.in_bf16().value();
      exact.update(step);
      rounded.update(step);
      EXPECT_TRUE(same_bits(weight_of(rounded), weight_of(exact)));
      EXPECT_TRUE(same_bits(rounded.forward(x).value(),
                            exact.in_bf16().value().forward(x).value()))
          << in << " x " << out;
    }
  }
}

TEST(LinearTest, InBf16AWeightWithoutRowsOrColumnsIsLegal) {
  const Linear bias =
      Linear::from_params(Tensor<float, 2>::create({3, 0}).value(),
                          tensor_of<float, 1>({3}, {1.01f, 2.02f, 3.03f}))
          .value()
          .in_bf16()
          .value();
  const Tensor<float, 3> nothing = Tensor<float, 3>::create({1, 1, 0}).value();
  EXPECT_THAT(bias.forward(nothing).value().elements(),
              ElementsAre(1.01f, 2.02f, 3.03f));
  const Linear none =
      Linear::from_params(Tensor<float, 2>::create({0, 3}).value())
          .value()
          .in_bf16()
          .value();
  const Tensor<float, 3> x = uniform<3>({1, 2, 3}, 3);
  EXPECT_EQ(none.forward(x).value().size(), 0u);
}

TEST(LinearTest, AnUpdateThatThrowsLeavesWhatItWroteInUse) {
  const Tensor<float, 3> x = uniform<3>({2, 5, 20}, 3);
  Linear linear = linear_of(20, 33);
  const auto stops = [&] {
    linear.update([](std::span<float> weight, std::span<float>) {
      weight[7] = 5;
      throw std::runtime_error("stop");
    });
  };
  EXPECT_THROW(stops(), std::runtime_error);
  EXPECT_EQ(linear.weight().data()[7], 5);
  const Tensor<float, 3> y = linear.forward(x).value();
  EXPECT_FALSE(same_bits(y, linear_of(20, 33).forward(x).value()));
  linear.update([](std::span<float>, std::span<float>) {});
  EXPECT_TRUE(same_bits(y, linear.forward(x).value()));
}

TEST(LinearTest, AnOutputInTheMemoryOfItsInputIsAnError) {
  Tensor<float, 3> x = uniform<3>({1, 5, 20}, 3);
  const Linear linear = linear_of(20, 20);
  const Status s = linear.forward_into(x, x);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code(), ErrorCode::invalid_argument);
  EXPECT_THAT(s, IsAbout("y", "in the memory of x", "memory of its own"));
}

TEST(LinearTest, WritesIntoAnyRowsOfTheCallers) {
  const Tensor<float, 3> x = uniform<3>({2, 5, 20}, 3);
  const Linear linear = linear_of(20, 33);
  Tensor<float, 3> wide = Tensor<float, 3>::create({2, 5, 40}).value();
  const TensorView<float, 3> y(wide.data(), {2, 5, 33}, {200, 40, 1});
  ASSERT_TRUE(linear.forward_into(x, y));
  const Tensor<float, 3> expected = linear.forward(x).value();
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t l = 0; l < 5; ++l) {
      EXPECT_TRUE(same_bits({&y(b, l, 0), 33}, {&expected(b, l, 0), 33}));
      EXPECT_THAT((std::span{&wide(b, l, 33), 7}), Each(0.0f));
    }
  }
}

TEST(LinearTest, WritesNowhereWhereItDoesNotFit) {
  const Tensor<float, 3> x = uniform<3>({2, 5, 20}, 3);
  const Linear linear = linear_of(20, 33);
  Tensor<float, 3> y = Tensor<float, 3>::create({2, 5, 34}).value();
  EXPECT_THAT(linear.forward_into(x, y),
              IsAbout("y", "(2, 5, 34)", "(2, 5, 33)"));
  const TensorView<float, 3> strided(y.data(), {2, 5, 33}, {170, 1, 5});
  EXPECT_THAT(linear.forward_into(x, strided),
              IsAbout("y", "strided", "features side by side"));
  EXPECT_THAT(y.elements(), Each(0.0f));
}

TEST(LinearTest, ARowHasTheSameBitsInAnyBatchOnAnyNumberOfThreads) {
  const Linear linear = linear_of(200, 9);
  const auto x = uniform<3>({3, 17, 200}, 12);
  const auto want = linear.forward(x).value();
  for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
    const Executor executor = Executor::with_threads(threads).value();
    EXPECT_TRUE(same_bits(linear.forward(x, "x", executor).value(), want))
        << threads << " threads";
  }
  for (std::size_t b = 0; b < 3; ++b) {
    for (std::size_t l = 0; l < 17; ++l) {
      const auto alone =
          linear.forward(TensorView<const float, 3>(&x(b, l, 0), {1, 1, 200}))
              .value();
      EXPECT_TRUE(same_bits(alone.elements(), {&want(b, l, 0), 9}))
          << "row " << b << ", " << l;
    }
  }
}

TEST(LinearTest, ARowWithNaNOrInfinityChangesNoOtherRow) {
  const Linear linear = linear_of(6, 5);
  auto x = uniform<3>({1, 3, 6}, 13);
  const auto want = linear.forward(x).value();
  for (const float poison : {kNaN, -kMinusInf, kMinusInf}) {
    x(0, 1, 2) = poison;
    const auto y = linear.forward(x).value();
    for (const std::size_t l : {0u, 2u}) {
      EXPECT_TRUE(same_bits(std::span(&y(0, l, 0), 5), {&want(0, l, 0), 5}));
    }
  }
}

TEST(LinearTest, EveryNaNItReturnsHasTheSameBits) {
  const Linear linear = linear_of(6, 5);
  auto x = filled<float, 3>({1, 3, 6}, 1);
  x(0, 0, 1) = std::bit_cast<float>(0xffc12345u);  // a NaN of another kind
  x(0, 1, 0) = -kMinusInf;                         // inf - inf
  x(0, 1, 1) = kMinusInf;
  const Linear ones = Linear::from_params(filled<float, 2>({5, 6}, 1)).value();
  for (const Linear* each : {&linear, &ones}) {
    const auto y = each->forward(x).value();
    for (std::size_t o = 0; o < 5; ++o) {
      EXPECT_EQ(bits(y(0, 0, o)), kNaNBits);
    }
  }
  const auto y = ones.forward(x).value();
  EXPECT_EQ(bits(y(0, 1, 0)), kNaNBits);
}

TEST(LinearTest, NoTokensAtAllAreLegal) {
  const Linear linear = linear_of(6, 5);
  for (const Extents<3> none : {Extents<3>{0, 4, 6}, Extents<3>{3, 0, 6}}) {
    const auto x = Tensor<float, 3>::create(none).value();
    EXPECT_EQ(linear.forward(x).value().extents(),
              (Extents<3>{none[0], none[1], 5}));
  }
}

TEST(LinearTest, AnInputOfAnotherSizeIsAnErrorThatShowsBothShapes) {
  const Linear linear = linear_of(4, 3);
  const auto x = uniform<3>({2, 5, 6}, 14);
  const auto y = linear.forward(x);
  ASSERT_FALSE(y);
  EXPECT_EQ(y.error().code(), ErrorCode::shape_mismatch);
  EXPECT_THAT(y, IsAbout("x", "(2, 5, 6)", "(2, 5, 4)"));
  EXPECT_EQ(linear.forward(x, "query").error().message(),
            "linear: query has shape (2, 5, 6), expected (B, L, in_features) "
            "= (2, 5, 4)");
}

TEST(LinearTest, ParametersThatDoNotFitAreErrors) {
  const auto no_in =
      Linear::create({.out_features = 3}, RandomStream(Seed{7}, 1));
  ASSERT_FALSE(no_in);
  EXPECT_EQ(no_in.error().code(), ErrorCode::invalid_argument);
  EXPECT_THAT(no_in, IsAbout("in_features", "0", "at least 1"));
  const auto no_out =
      Linear::create({.in_features = 3}, RandomStream(Seed{7}, 1));
  ASSERT_FALSE(no_out);
  EXPECT_THAT(no_out, IsAbout("out_features", "0", "at least 1"));
  const auto bias = Linear::from_params(filled<float, 2>({4, 2}, 1),
                                        filled<float, 1>({3}, 1));
  ASSERT_FALSE(bias);
  EXPECT_EQ(bias.error().code(), ErrorCode::shape_mismatch);
  EXPECT_THAT(bias, IsAbout("bias", "(3)", "(4)"));
  const auto empty = Linear::from_params(filled<float, 2>({0, 0}, 1));
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty, IsAbout("weight", "of shape (0, 0)",
                             "in_features or out_features of at least 1"));
}

TEST(LinearTest, AMapOfNoFeaturesGivesItsBiasAndBackOnlyThatHasAGradient) {
  const auto bias = uniform<1>({20}, 61);
  const Linear linear =
      Linear::from_params(filled<float, 2>({20, 0}, 0), bias.clone().value())
          .value();
  const auto x = filled<float, 3>({2, 3, 0}, 0);
  const auto y = linear.forward(x).value();
  for (std::size_t n = 0; n < y.size(); ++n) {
    EXPECT_EQ(y.data()[n], bias(n % 20));
  }
  const auto d_y = filled<float, 3>({2, 3, 20}, 1);
  const auto gradients = linear.backward_params(x, d_y).value();
  EXPECT_EQ(gradients.weight.extents(), (Extents<2>{20, 0}));
  EXPECT_EQ(gradients.bias(19), 6);
  EXPECT_EQ(linear.backward_input(d_y).value().extents(), x.extents());
}

TEST(LinearTest, AMapToNoFeaturesGivesNoneAndBackZeros) {
  const Linear linear =
      Linear::from_params(filled<float, 2>({0, 4}, 0)).value();
  const auto x = uniform<3>({2, 3, 4}, 62);
  const auto y = linear.forward(x).value();
  EXPECT_EQ(y.extents(), (Extents<3>{2, 3, 0}));
  EXPECT_EQ(linear.backward_params(x, y).value().weight.extents(),
            (Extents<2>{0, 4}));
  const auto d_x = linear.backward_input(y).value();
  EXPECT_TRUE(
      same_bits(d_x.elements(), filled<float, 3>({2, 3, 4}, 0).elements()));
}

}  // namespace
}  // namespace headwise::testing_support
