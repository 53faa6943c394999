#include "headwise/steps/bias.h"

#include <bit>
#include <string>
#include <vector>

#include "attention/every_bias.h"
#include "headwise/steps/mask.h"
#include "headwise/steps/softmax.h"
#include "steps/mask_tile.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

const AttentionShape kShape = {
    .B = 2, .Hq = 2, .Hkv = 1, .Lq = 70, .Lkv = 150, .D = 1, .Dv = 1};

Tensor<float, 4> biased(const Tensor<float, 4>& scores, const Bias& bias,
                        const AttentionShape& shape) {
  auto sum = filled<float, 4>(scores.extents(), 42);
  EXPECT_TRUE(add_bias(view_of(scores),
                       BoundBias::bind(bias, {shape, {}, "test"}).value(), sum,
                       Executor::default_executor()));
  return sum;
}

TEST(BiasTest, IsAddedAtItsNamedAxesAndBroadcastOverTheOthers) {
  const AttentionShape shape{1, 2, 2, 2, 3, 1, 1};
  const auto scores = filled<float, 4>({1, 2, 2, 3}, 1);
  const auto by_head = tensor_of<float, 2>({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto sum =
      biased(scores, dense(view_of(by_head), {Axis::Lkv, Axis::H}), shape);
  EXPECT_THAT(sum.elements(),
              testing::ElementsAre(2, 4, 6, 2, 4, 6, 3, 5, 7, 3, 5, 7));
  const auto one = tensor_of<float, 1>({1}, {0.5F});
  EXPECT_THAT(
      biased(scores, dense(view_of(one), {Axis::one}), shape).elements(),
      testing::Each(1.5F));
}

TEST(BiasTest, MinusInfinityIsTheSumWhateverTheScoreIs) {
  const AttentionShape shape{1, 1, 1, 1, 4, 1, 1};
  const auto scores =
      tensor_of<float, 4>({1, 1, 1, 4}, {kNaN, -kMinusInf, 2, kMinusInf});
  const auto minus_inf = filled<float, 1>({4}, kMinusInf);
  EXPECT_THAT(
      biased(scores, dense(view_of(minus_inf), {Axis::Lkv}), shape).elements(),
      testing::Each(kMinusInf));
}

TEST(BiasTest, EveryNaNHasTheSameBits) {
  const AttentionShape shape{1, 1, 1, 1, 3, 1, 1};
  const auto scores = tensor_of<float, 4>({1, 1, 1, 3}, {kNaN, kMinusInf, 1});
  const auto bias = tensor_of<float, 1>(
      {3}, {1, -kMinusInf, std::bit_cast<float>(0xffc12345u)});
  const auto sum = biased(scores, dense(view_of(bias), {Axis::Lkv}), shape);
  for (const float x : sum.elements()) {
    EXPECT_EQ(bits(x), kNaNBits);
  }
}

TEST(BiasTest, ErrorsNameTheBias) {
  const auto error_of = [](const Bias& bias) {
    const auto bound = BoundBias::bind(bias, {kShape, {}, "attention"});
    return bound ? std::string() : bound.error().message();
  };
  const auto bias = filled<float, 2>({70, 149}, 0);
  EXPECT_EQ(error_of(dense(view_of(bias), {Axis::Lq, Axis::Lkv})),
            "attention: bias has shape (70, 149), expected (Lq, Lkv) = (70, "
            "150)");
  EXPECT_EQ(error_of(dense(view_of(bias), {Axis::Lq, Axis::Lq})),
            "attention: bias has axes (Lq, Lq) that name Lq twice, expected "
            "each name "
            "once");
  EXPECT_EQ(error_of(dense(bias.data(), {{70, 150}, {150, 1}, {Axis::Lkv}})),
            "attention: bias has 2 axes, expected one for each name in (Lkv)");
  EXPECT_EQ(error_of(Bias()), "");
}

// ---- What it says of a tile. ----

void check_tile(const BoundMask& mask, const Tile& tile,
                const std::string& name) {
  std::vector<std::uint64_t> words(tile.keys);
  fill_words(mask, tile, words);
  std::size_t allowed = 0;
  for (std::size_t k = 0; k < tile.keys; ++k) {
    std::uint64_t want = 0;
    for (std::size_t n = 0; n < tile.queries; ++n) {
      const std::uint64_t bit = mask.may_attend(
          tile.b, tile.h, tile.first_query + n, tile.first_key + k);
      want |= bit << n;
      allowed += bit;
    }
    ASSERT_EQ(words[k], want) << name << ", key " << k;
  }
  const TileKind kind = allowed == tile.queries * tile.keys ? TileKind::full
                        : allowed == 0                      ? TileKind::empty
                                                            : TileKind::partial;
  EXPECT_EQ(classify(mask, tile), kind) << name;
}

TEST(BiasTileTest, AgreesWithEachPairForEveryLayout) {
  const EveryBias every(kShape);
  for (const auto& [name, bias] : every.biases()) {
    const BoundBias bound = BoundBias::bind(bias, {kShape, {}, "test"}).value();
    const BoundMask mask =
        BoundMask::bind(Mask(), {kShape, {}, "test"}, bound).value();
    for (const std::size_t queries : {1u, 7u, 16u, 24u, 33u, 48u, 64u}) {
      for (const std::size_t keys : {1u, 2u, 4u, 13u, 128u}) {
        check_tile(mask, {1, 1, 3, queries, 5, keys}, name);
        check_tile(mask, {0, 1, 6, queries, 22, keys}, name);
      }
    }
  }
}

TEST(BiasTileTest, ATriangleOfMinusInfinityHasEmptyAndFullTiles) {
  auto bias = filled<float, 2>({70, 150}, 0);
  for (std::size_t i = 0; i < 70; ++i) {
    for (std::size_t j = i + 1; j < 150; ++j) {
      bias(i, j) = kMinusInf;
    }
  }
  const BoundBias bound =
      BoundBias::bind(dense(view_of(bias), {Axis::Lq, Axis::Lkv}),
                      {kShape, {}, "test"})
          .value();
  const BoundMask mask =
      BoundMask::bind(Mask(), {kShape, {}, "test"}, bound).value();
  EXPECT_EQ(classify(mask, {0, 0, 40, 20, 0, 41}), TileKind::full);
  EXPECT_EQ(classify(mask, {0, 0, 40, 20, 0, 42}), TileKind::partial);
  EXPECT_EQ(classify(mask, {0, 0, 40, 20, 59, 10}), TileKind::partial);
  EXPECT_EQ(classify(mask, {0, 0, 40, 20, 60, 10}), TileKind::empty);
}

TEST(BiasTileTest, JoinsTheRulesOfTheMask) {
  const EveryBias every(kShape);
  for (const auto& [name, bias] : every.biases()) {
    const BoundBias bound = BoundBias::bind(bias, {kShape, {}, "test"}).value();
    const BoundMask both =
        BoundMask::bind(causal(), {kShape, 9, "test"}, bound).value();
    EXPECT_FALSE(both.allows_all());
    EXPECT_FALSE(both.may_attend(0, 0, 0, 10)) << name;
    for (std::size_t j = 0; j < 10; ++j) {
      EXPECT_EQ(both.may_attend(0, 1, 0, j), bound(0, 1, 0, j) != kMinusInf);
    }
    check_tile(both, {0, 1, 0, 48, 0, 40}, name);
  }
}

}  // namespace
}  // namespace headwise::testing_support
