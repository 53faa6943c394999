#include "prune/prune_count.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/errors.h"

namespace headwise::cli {
namespace {

// The option is refused, and the error names these values.
auto IsRefused(std::string option, std::string given,
               std::vector<std::string> expected) {
  return testing_support::HasError({.code = ErrorCode::invalid_argument,
                                    .argument = std::move(option),
                                    .given = {std::move(given)},
                                    .expected = std::move(expected)});
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
  EXPECT_THAT(count_to_remove({.keep = 73}, 72),
              IsRefused("--keep", "73", {"72"}));
  for (const std::string text :
       {"73", "101%", "-1", "1.5", "%", "", "40 %", "1e1", "nan", "nan%",
        "-nan%", "inf", "inf%", "0x10", "40%%"}) {
    EXPECT_THAT(count_to_remove({.remove = text}, 72),
                IsRefused("--remove", "is " + text, {"0 to 72", "40%"}));
  }
}

TEST(PruneCountTest, ADropIsInPoints) {
  EXPECT_DOUBLE_EQ(largest_drop({.max_drop = "1%"}).value(), 0.01);
  EXPECT_DOUBLE_EQ(largest_drop({.max_drop = "0.5%"}).value(), 0.005);
  for (const char* text : {"1", "101%", "-1%", "", "nan%", "inf%", "-nan%"}) {
    EXPECT_FALSE(largest_drop({.max_drop = text})) << text;
  }
}

}  // namespace
}  // namespace headwise::cli
