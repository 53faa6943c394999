#include "headwise/prune/pruned_accuracy.h"

#include <gtest/gtest.h>

#include <vector>

#include "prune/most_heads.h"
#include "support/errors.h"

namespace headwise::testing_support {
namespace {

// Accuracies that fall below the limit from `beyond` heads on.
std::size_t found_of(std::size_t beyond, std::size_t total,
                     std::vector<std::size_t>* asked = nullptr) {
  return most_heads_within(0.01, total,
                           [&](std::size_t count) -> Result<double> {
                             if (asked != nullptr) {
                               asked->push_back(count);
                             }
                             return count < beyond ? 0.93 : 0.91;
                           })
      .value();
}

TEST(MostHeadsTest, TheMostWithinADropIsFoundToOneHead) {
  for (const std::size_t total : {1u, 5u, 19u, 20u, 72u, 144u}) {
    for (std::size_t beyond = 1; beyond <= total + 1; ++beyond) {
      EXPECT_EQ(found_of(beyond, total), beyond - 1) << total;
    }
  }
}

TEST(MostHeadsTest, StepsAreATwentieth) {
  std::vector<std::size_t> asked;
  found_of(8, 72, &asked);
  EXPECT_EQ(asked, (std::vector<std::size_t>{0, 3, 6, 9, 7, 8}));
}

TEST(MostHeadsTest, ADropOfExactlyAsMuchIsWithin) {
  const auto found =
      most_heads_within(0.01, 3, [](std::size_t count) -> Result<double> {
        return count == 0 ? 0.93 : 0.92;
      });
  EXPECT_EQ(found.value(), 3u);
}

TEST(MostHeadsTest, AnErrorOfMeasuringIsGivenOn) {
  const auto found =
      most_heads_within(0.01, 3, [](std::size_t) -> Result<double> {
        return Error{ErrorCode::io_error, {.given = "gone"}};
      });
  EXPECT_THAT(found,
              HasError({.code = ErrorCode::io_error, .given = {"gone"}}));
}

}  // namespace
}  // namespace headwise::testing_support
