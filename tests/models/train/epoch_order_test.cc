#include "train/epoch_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace headwise {
namespace {

constexpr Seed kSeed{7};

TEST(EpochOrderTest, EveryExampleComesOnce) {
  for (const std::size_t count : {1u, 2u, 17u, 1000u}) {
    std::vector<std::size_t> order = epoch_order(kSeed, 0, count);
    std::ranges::sort(order);
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(order, all);
  }
}

TEST(EpochOrderTest, EachEpochAndSeedHasItsOwn) {
  const auto first = epoch_order(kSeed, 0, 100);
  EXPECT_EQ(epoch_order(kSeed, 0, 100), first);
  EXPECT_NE(epoch_order(kSeed, 1, 100), first);
  EXPECT_NE(epoch_order(Seed{8}, 0, 100), first);
  EXPECT_NE(epoch_order(Seed{kSeed.value + (std::uint64_t{1} << 32)}, 0, 100),
            first);
}

// A run that was begun on one machine goes on on another. The numbers are those
// of Philox by hand.
TEST(EpochOrderTest, IsTheSameOnEveryMachine) {
  EXPECT_EQ(epoch_order(kSeed, 3, 10),
            (std::vector<std::size_t>{5, 6, 2, 8, 7, 4, 9, 0, 3, 1}));
}

TEST(EpochOrderTest, EveryPlaceIsAsLikelyAsAnother) {
  constexpr std::size_t kCount = 4;
  constexpr std::uint32_t kEpochs = 24000;
  std::vector<std::size_t> first(kCount);
  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    ++first[epoch_order(kSeed, epoch, kCount).front()];
  }
  for (const std::size_t times : first) {
    EXPECT_NEAR(static_cast<double>(times), 6000.0, 5 * 67.0);  // 5 sigma
  }
}

}  // namespace
}  // namespace headwise
