#include "headwise/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace headwise {
namespace {

// The known answers that the authors of Philox publish with it.
TEST(PhiloxTest, GivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

std::vector<float> normals(std::size_t count, Seed seed, std::uint32_t stream) {
  std::vector<float> values(count);
  RandomStream(seed, stream).fill_normal(values);
  return values;
}

TEST(RandomStreamTest, ANumberDependsOnItsIndexAlone) {
  const std::vector<float> few = normals(10, Seed{7}, 1);
  const std::vector<float> many = normals(100, Seed{7}, 1);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  EXPECT_NE(few, normals(10, Seed{8}, 1));
  EXPECT_NE(few, normals(10, Seed{7}, 2));
}

TEST(RandomStreamTest, NormalNumbersAreBoxMullerOfTheWords) {
  const std::vector<float> values = normals(2000, Seed{42}, 3);
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const PhiloxCounter w = philox4x32({i, 0, 3, 1}, {42, 0});
    const double u = (w[0] + 1.0) / 4294967296.0;
    const double expected = std::sqrt(-2 * std::log(u)) *
                            std::cos(2 * M_PI * (w[1] / 4294967296.0));
    ASSERT_NEAR(values[i], expected, 1e-7 * std::max(1.0, std::abs(expected)))
        << "i=" << i;
  }
}

TEST(RandomStreamTest, NormalNumbersHaveMeanZeroAndVarianceOne) {
  const std::vector<float> values = normals(100000, Seed{1}, 0);
  double sum = 0;
  double squares = 0;
  for (const float x : values) {
    sum += x;
    squares += double{x} * x;
  }
  EXPECT_NEAR(sum / 100000, 0, 0.02);
  EXPECT_NEAR(squares / 100000, 1, 0.02);
}

TEST(RandomStreamTest, UniformNumbersFillTheirRange) {
  std::vector<float> values(100000);
  RandomStream(Seed{1}, 0).fill_uniform(values, -0.5, 0.25);
  const auto [low, high] = std::ranges::minmax(values);
  EXPECT_GE(low, -0.5f);
  EXPECT_LT(low, -0.499f);
  EXPECT_LT(high, 0.25f);
  EXPECT_GT(high, 0.249f);
}

std::vector<float> part_of_stream(std::uint64_t part) {
  std::vector<float> values(3);
  RandomStream(Seed{42}, 7).substream(part).fill_normal(values);
  return values;
}

TEST(RandomStreamTest, PartsOfAStreamDifferHoweverManyThereAre) {
  std::set<std::vector<float>> parts;
  std::size_t count = 0;
  for (const std::uint64_t first :
       {std::uint64_t{0}, std::uint64_t{1} << 16, std::uint64_t{1} << 32,
        (std::uint64_t{1} << 47) - 3}) {
    for (std::uint64_t n = 0; n < 3; ++n, ++count) {
      parts.insert(part_of_stream(first + n));
    }
  }
  EXPECT_EQ(parts.size(), count);
}

TEST(RandomStreamTest, APartBelow65536IsAStreamOf32Bits) {
  for (const std::uint32_t part : {0u, 1u, 65535u}) {
    EXPECT_EQ(part_of_stream(part), normals(3, Seed{42}, 7 + (part << 16)));
  }
}

// What makes parameters the same on every machine: these bits are frozen.
TEST(RandomStreamTest, TheFirstNumbersOfSeedZeroAreFrozen) {
  EXPECT_EQ(
      normals(3, Seed{0}, 0),
      (std::vector<float>{0x1.a6b398p+0f, -0x1.666254p-3f, 0x1.54cb8ep+0f}));
  std::vector<float> uniform(3);
  RandomStream(Seed{0}, 0).fill_uniform(uniform, -1, 1);
  EXPECT_EQ(uniform, (std::vector<float>{-0x1.48c634p-1f, -0x1.b2dc78p-1f,
                                         0x1.f3e38p-1f}));
}

}  // namespace
}  // namespace headwise
