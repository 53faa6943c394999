#include "headwise/steps/alibi.h"

#include <cmath>
#include <string>

#include "headwise/steps/softmax.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

const AttentionShape kShape = {
    .B = 2, .Hq = 2, .Hkv = 2, .Lq = 2, .Lkv = 3, .D = 1, .Dv = 1};

TEST(AlibiSlopesTest, OfAPowerOfTwoAreGeometric) {
  EXPECT_THAT(alibi_slopes(1).value().elements(), ElementsAre(0x1p-8F));
  EXPECT_THAT(alibi_slopes(8).value().elements(),
              ElementsAre(0x1p-1F, 0x1p-2F, 0x1p-3F, 0x1p-4F, 0x1p-5F, 0x1p-6F,
                          0x1p-7F, 0x1p-8F));
}

TEST(AlibiSlopesTest, OfOtherNumbersEndWithEverySecondOfTwiceAsMany) {
  const auto slopes = alibi_slopes(6).value();
  EXPECT_THAT(slopes.elements(), ElementsAre(0x1p-2F, 0x1p-4F, 0x1p-6F, 0x1p-8F,
                                             0x1p-1F, 0x1p-3F));
}

TEST(AlibiSlopesTest, AreTheRoundedPowersForEveryNumberOfHeads) {
  for (const std::size_t heads : {2u, 3u, 12u, 16u, 32u, 71u, 128u, 1000u}) {
    const auto slopes = alibi_slopes(heads).value();
    std::size_t below = 1;
    while (2 * below <= heads) {
      below *= 2;
    }
    for (std::size_t h = 0; h < heads; ++h) {
      const double n = static_cast<double>(below);
      const double power = h < below ? static_cast<double>(h + 1)
                                     : static_cast<double>(h - below) + 0.5;
      EXPECT_EQ(slopes(h), static_cast<float>(std::exp2(-8 * power / n)))
          << heads << " heads, head " << h;
    }
  }
  EXPECT_THAT(alibi_slopes(0), IsAbout("num_heads", "0", "at least 1"));
}

TEST(AlibiTest, TakesTheSlopeTimesTheDistanceFromEachScore) {
  const auto scores = filled<float, 4>({2, 2, 2, 3}, 10);
  const auto slopes = tensor_of<float, 1>({2}, {1, 0.5F});
  const auto starts = tensor_of<std::int64_t, 1>({2}, {0, -3});
  const auto alibi =
      BoundAlibi::bind(view_of(slopes), {kShape, starts, "test"}).value();
  auto sums = filled<float, 4>({2, 2, 2, 3}, 42);
  EXPECT_TRUE(
      add_alibi(view_of(scores), alibi, sums, Executor::default_executor()));
  EXPECT_THAT(sums.elements(),
              ElementsAre(10, 9, 8, 9, 10, 9,           // b 0, h 0
                          10, 9.5F, 9, 9.5F, 10, 9.5F,  // b 0, h 1
                          7, 6, 5, 8, 7, 6,             // b 1, h 0
                          8.5F, 8, 7.5F, 9, 8.5F, 8));  // b 1, h 1
}

TEST(AlibiTest, KeepsMinusInfinityAtTheLargestDistances) {
  const auto scores = filled<float, 4>({2, 2, 2, 3}, kMinusInf);
  const auto slopes = tensor_of<float, 1>({2}, {-1e19F, 1e19F});
  const auto alibi =
      BoundAlibi::bind(view_of(slopes),
                       {kShape, -(std::int64_t{1} << 62), "test"})
          .value();
  auto sums = filled<float, 4>({2, 2, 2, 3}, 42);
  EXPECT_TRUE(
      add_alibi(view_of(scores), alibi, sums, Executor::default_executor()));
  EXPECT_THAT(sums.elements(), testing::Each(kMinusInf));
}

TEST(AlibiTest, ErrorsNameTheSlopes) {
  const auto error_of = [](const Tensor<float, 1>& slopes) {
    const auto bound = BoundAlibi::bind(view_of(slopes), {kShape, {}, "test"});
    return bound ? std::string() : bound.error().message();
  };
  EXPECT_EQ(error_of(filled<float, 1>({3}, 1)),
            "test: alibi has shape (3), expected (Hq) = (2)");
  EXPECT_EQ(error_of(tensor_of<float, 1>({2}, {1, kNaN})),
            "test: alibi[1] is nan, expected a number from -1e19 to 1e19");
  EXPECT_EQ(error_of(tensor_of<float, 1>({2}, {2e19F, 1})),
            "test: alibi[0] is 2e+19, expected a number from -1e19 to 1e19");
  EXPECT_FALSE(BoundAlibi::bind({}, {kShape, {}, "test"}).value().given());
}

}  // namespace
}  // namespace headwise::testing_support
