#include "base/exponential.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace headwise {
namespace {

TEST(ExponentialTest, ItIsTheLibrarysWithinItsBound) {
  double worst = 0;
  for (double x = 0; x > -708; x -= 0.00137) {
    const double expected = std::exp(x);
    worst = std::max(worst, std::abs(exponential(x) - expected) / expected);
  }
  EXPECT_LE(worst, 5e-16);
}

TEST(ExponentialTest, TheEnds) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(exponential(0), 1);
  EXPECT_EQ(exponential(-708.5), 0);
  EXPECT_EQ(exponential(-kInf), 0);
  EXPECT_FALSE(std::signbit(exponential(-kInf)));
  EXPECT_TRUE(std::isnan(exponential(std::nan(""))));
}

}  // namespace
}  // namespace headwise
