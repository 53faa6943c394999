#include "prune/prune_count.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headwise::cli {
namespace {

std::string error_of(const PruneFlags& flags, std::size_t total) {
  const auto count = count_to_remove(flags, total);
  return count ? "none" : count.error().message();
}

TEST(PruneCountTest, HeadsAreKeptRemovedOrAShareOfThem) {
  EXPECT_EQ(count_to_remove({.keep = 40}, 72).value(), 32u);
  EXPECT_EQ(count_to_remove({.keep = 0}, 72).value(), 72u);
  EXPECT_EQ(count_to_remove({.remove = "29"}, 72).value(), 29u);
  EXPECT_EQ(count_to_remove({.remove = "40%"}, 72).value(), 29u);
  EXPECT_EQ(count_to_remove({.remove = "12.5%"}, 72).value(), 9u);
  EXPECT_EQ(count_to_remove({.remove = "0%"}, 72).value(), 0u);
  EXPECT_EQ(count_to_remove({.remove = "100%"}, 72).value(), 72u);
}

TEST(PruneCountTest, MoreThanThereAreAndWhatIsNoNumberAreErrors) {
  EXPECT_EQ(error_of({.keep = 73}, 72),
            "--keep is 73, expected at most the 72 heads there are");
  for (const std::string text :
       {"73", "101%", "-1", "1.5", "%", "", "40 %", "1e1", "nan", "nan%",
        "-nan%", "inf", "inf%", "0x10", "40%%"}) {
    EXPECT_EQ(error_of({.remove = text}, 72),
              "--remove is " + text +
                  ", expected a number of heads from 0 to 72, or a share such "
                  "as 40%");
  }
}

TEST(PruneCountTest, ADropIsInPoints) {
  EXPECT_DOUBLE_EQ(largest_drop({.max_drop = "1%"}).value(), 0.01);
  EXPECT_DOUBLE_EQ(largest_drop({.max_drop = "0.5%"}).value(), 0.005);
  for (const char* text : {"1", "101%", "-1%", "", "nan%", "inf%", "-nan%"}) {
    EXPECT_FALSE(largest_drop({.max_drop = text})) << text;
  }
}

// Accuracies that fall below the limit from `beyond` heads on.
std::size_t found_of(std::size_t beyond, std::size_t total,
                     std::vector<std::size_t>* asked = nullptr) {
  return most_within(0.01, total,
                     [&](std::size_t count) -> Result<double> {
                       if (asked != nullptr) {
                         asked->push_back(count);
                       }
                       return count < beyond ? 0.93 : 0.91;
                     })
      .value();
}

TEST(PruneCountTest, TheMostWithinADropIsFoundToOneHead) {
  for (const std::size_t total : {1u, 5u, 19u, 20u, 72u, 144u}) {
    for (std::size_t beyond = 1; beyond <= total + 1; ++beyond) {
      EXPECT_EQ(found_of(beyond, total), beyond - 1) << total;
    }
  }
}

TEST(PruneCountTest, StepsAreATwentieth) {
  std::vector<std::size_t> asked;
  found_of(8, 72, &asked);
  EXPECT_EQ(asked, (std::vector<std::size_t>{0, 3, 6, 9, 7, 8}));
}

TEST(PruneCountTest, ADropOfExactlyAsMuchIsWithin) {
  const auto found =
      most_within(0.01, 3, [](std::size_t count) -> Result<double> {
        return count == 0 ? 0.93 : 0.92;
      });
  EXPECT_EQ(found.value(), 3u);
}

TEST(PruneCountTest, AnErrorOfMeasuringIsGivenOn) {
  const auto found = most_within(0.01, 3, [](std::size_t) -> Result<double> {
    return Error{ErrorCode::io_error, {.given = "gone"}};
  });
  EXPECT_EQ(found.error().message(), "gone");
}

}  // namespace
}  // namespace headwise::cli
