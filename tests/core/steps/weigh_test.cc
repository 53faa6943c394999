#include "headwise/steps/weigh.h"

#include <bit>

#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

struct WeighCase {
  const Tensor<float, 4>& attn_weights;
  TensorView<const float, 4> value;
  Mask mask{};
  float lse = 0;  // of every row
  EmptyRow empty_rows = EmptyRow::zero;
  const Executor& executor = Executor::default_executor();
};

Tensor<float, 4> weigh_of(const WeighCase& c) {
  const auto [B, Hq, Lq, Lkv] = c.attn_weights.extents();
  const std::size_t Dv = c.value.extent(3);
  const auto mask = BoundMask::bind(
      c.mask, {{B, Hq, c.value.extent(2), Lq, Lkv, 1, Dv}, {}, "test"});
  auto context = filled<float, 4>({B, Lq, Hq, Dv}, 42);
  EXPECT_TRUE(weigh(c.attn_weights, c.value, mask.value(),
                    view_of(filled<float, 3>({B, Hq, Lq}, c.lse)), c.empty_rows,
                    context, c.executor));
  return context;
}

TEST(WeighTest, TheContextIsTheValuesTimesTheirWeights) {
  const auto attn_weights =
      tensor_of<float, 4>({1, 1, 2, 2}, {0.25f, 0.75f, 1, 0});
  const auto value = tensor_of<float, 4>({1, 2, 1, 3}, {4, 8, 0, 0, 4, 8});
  EXPECT_THAT(weigh_of({attn_weights, value}).elements(),
              ElementsAre(1, 5, 6, 4, 8, 0));
}

TEST(WeighTest, MatchesDoubleWithGroupedHeads) {
  const auto attn_weights = uniform<4>({2, 6, 5, 40}, 1, 0, 0.05);
  const auto value = uniform<4>({2, 40, 2, 7}, 2);
  auto want = Tensor<double, 4>::create({2, 5, 6, 7}).value();
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t h = 0; h < 6; ++h) {
        for (std::size_t d = 0; d < 7; ++d) {
          for (std::size_t j = 0; j < 40; ++j) {
            // Three query heads share a value head: 0 0 0 1 1 1.
            want(b, i, h, d) += double{attn_weights(b, h, i, j)} *
                                double{value(b, j, h / 3, d)};
          }
        }
      }
    }
  }
  EXPECT_TRUE(all_near(weigh_of({attn_weights, value}), want, 5e-7));
}

TEST(WeighTest, AMaskedValueIsNotReadWhateverItHolds) {
  const auto attn_weights =
      tensor_of<float, 4>({1, 1, 2, 3}, {1, 0, 0, 0.5f, 0.5f, 0});
  auto value = tensor_of<float, 4>({1, 3, 1, 1}, {2, 4, 0});
  for (const float poison : {kNaN, kMinusInf, -kMinusInf}) {
    value(0, 2, 0, 0) = poison;
    EXPECT_THAT(
        weigh_of(
            {.attn_weights = attn_weights, .value = value, .mask = causal()})
            .elements(),
        ElementsAre(2, 3));
  }
}

TEST(WeighTest, AnAllowedValueIsReadAlsoWhereItsWeightIsZero) {
  const auto attn_weights = tensor_of<float, 4>({1, 1, 1, 2}, {1, 0});
  const auto value = tensor_of<float, 4>({1, 2, 1, 2}, {2, 3, kMinusInf, 5});
  const auto context = weigh_of({attn_weights, value});
  EXPECT_EQ(bits(context(0, 0, 0, 0)), kNaNBits);  // 0 * inf
  EXPECT_EQ(context(0, 0, 0, 1), 3);
}

TEST(WeighTest, EveryNaNHasTheSameBits) {
  const auto attn_weights = filled<float, 4>({1, 1, 1, 2}, 0.5f);
  auto value = filled<float, 4>({1, 2, 1, 2}, 1);
  value(0, 0, 0, 0) = std::bit_cast<float>(0xffc12345u);
  value(0, 0, 0, 1) = -kMinusInf;
  value(0, 1, 0, 1) = kMinusInf;
  const auto context = weigh_of({attn_weights, value});
  EXPECT_EQ(bits(context(0, 0, 0, 0)), kNaNBits);
  EXPECT_EQ(bits(context(0, 0, 0, 1)), kNaNBits);
}

TEST(WeighTest, AnEmptyRowGivesWhatItsRuleSays) {
  const auto nothing = filled<bool, 2>({1, 4}, false);
  auto value = tensor_of<float, 4>({1, 4, 1, 1}, {1, 2, 3, 6});
  const auto context_of = [&](EmptyRow empty_rows, float weight) {
    const auto attn_weights = filled<float, 4>({1, 1, 1, 4}, weight);
    return weigh_of({.attn_weights = attn_weights,
                     .value = value,
                     .mask = key_padding(nothing),
                     .lse = kMinusInf,
                     .empty_rows = empty_rows})(0, 0, 0, 0);
  };
  EXPECT_EQ(context_of(EmptyRow::uniform, 0.25f), 3);
  EXPECT_EQ(bits(context_of(EmptyRow::nan, kNaN)), kNaNBits);
  EXPECT_EQ(bits(context_of(EmptyRow::zero, 0)), 0u);
  // Under zero nothing is read.
  value(0, 1, 0, 0) = kNaN;
  EXPECT_EQ(bits(context_of(EmptyRow::zero, 0)), 0u);
}

TEST(WeighTest, TheLayoutAndTheThreadsDoNotShowInTheBits) {
  const auto attn_weights = uniform<4>({2, 4, 9, 30}, 3, 0, 0.1);
  const auto value = uniform<4>({2, 30, 4, 5}, 4);
  const auto want = weigh_of({attn_weights, value});
  const auto value_bhld = copy_of(as_bhld(view_of(value)));
  EXPECT_TRUE(
      same_bits(weigh_of({attn_weights, as_blhd(view_of(value_bhld))}), want));
  for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
    const Executor executor = Executor::with_threads(threads).value();
    EXPECT_TRUE(same_bits(weigh_of({.attn_weights = attn_weights,
                                    .value = value,
                                    .executor = executor}),
                          want));
  }
}

TEST(WeighTest, WithoutKeysTheContextIsZero) {
  const auto attn_weights = Tensor<float, 4>::create({1, 2, 3, 0}).value();
  const auto value = Tensor<float, 4>::create({1, 0, 2, 4}).value();
  for (const EmptyRow empty_rows : {EmptyRow::zero, EmptyRow::uniform}) {
    EXPECT_THAT(weigh_of({.attn_weights = attn_weights,
                          .value = value,
                          .lse = kMinusInf,
                          .empty_rows = empty_rows})
                    .elements(),
                Each(0.0f));
  }
}

}  // namespace
}  // namespace headwise::testing_support
