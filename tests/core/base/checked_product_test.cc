#include "headwise/base/checked_product.h"

#include <gtest/gtest.h>

#include <array>

namespace headwise {
namespace {

constexpr std::size_t kMax = ~std::size_t{0};

TEST(CheckedProductTest, IsTheProductWhileItFits) {
  EXPECT_EQ(checked_product(std::array<std::size_t, 3>{2, 3, 4}), 24u);
  EXPECT_EQ(checked_product(std::span<const std::size_t>{}), 1u);
  EXPECT_EQ(checked_product(std::array<std::size_t, 2>{1, kMax}), kMax);
}

TEST(CheckedProductTest, AnOverflowIsNoNumber) {
  for (const std::size_t big :
       {std::size_t{1} << 32, std::size_t{1} << 63, kMax}) {
    EXPECT_EQ(checked_product(std::array<std::size_t, 2>{big, big}),
              std::nullopt);
  }
  EXPECT_EQ(checked_product(std::array<std::size_t, 2>{kMax, 2}), std::nullopt);
}

TEST(CheckedProductTest, AZeroMakesEveryProductZero) {
  EXPECT_EQ(checked_product(std::array<std::size_t, 3>{kMax, kMax, 0}), 0u);
}

}  // namespace
}  // namespace headwise
