#include "shell/quantity_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "korean.h"

namespace headwise::cli {
namespace {

TEST(QuantityTextTest, GroupsDigitsInThrees) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(123'456'789), "123,456,789");
  EXPECT_EQ(count_text(std::numeric_limits<std::uint64_t>::max()),
            "18,446,744,073,709,551,615");
}

TEST(QuantityTextTest, HasNoNegativeZero) {
  EXPECT_EQ(signed_text(-0.00004, 4), "+0.0000");
  EXPECT_EQ(signed_text(-0.00006, 4), "-0.0001");
  EXPECT_EQ(signed_text(12.34, 1), "+12.3");
}

TEST(QuantityTextTest, TakesTheUnitThatFits) {
  EXPECT_EQ(bytes_text(7), "7 bytes");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(1024.0 * 1024 * 1024), "1.0 GiB");
  EXPECT_EQ(bytes_text(1e30), "867361737988.4 EiB");
  EXPECT_EQ(seconds_text(0), "0 µs");
  EXPECT_EQ(seconds_text(1.234e-5), "12.3 µs");
  EXPECT_EQ(seconds_text(0.0456), "45.6 ms");
  EXPECT_EQ(seconds_text(7.891), "7.89 s");
  EXPECT_EQ(seconds_text(1234.5), "1,235 s");
  EXPECT_EQ(seconds_text(1e20), "1e+20 s");
  const InKorean korean;
  EXPECT_EQ(bytes_text(7), "7바이트");
}

}  // namespace
}  // namespace headwise::cli
