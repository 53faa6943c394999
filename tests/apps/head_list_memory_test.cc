#include <gtest/gtest.h>

#include "shell/models/head_list.h"
#include "support/allocations.h"

namespace headwise::cli {
namespace {

TEST(HeadListMemoryTest, MemoryThatRunsOutIsNoErrorOfTheOption) {
  const HeadsLeft left = {{0, 1}, {1}};
  testing_support::failing_allocation() = 1;
  const auto place = place_of_head("--ablate", {5, 0}, left);
  testing_support::failing_allocation() = 0;
  ASSERT_FALSE(place);
  EXPECT_EQ(place.error().code(), ErrorCode::out_of_memory);
  EXPECT_EQ(place_of_head("--ablate", {5, 0}, left).error().code(),
            ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace headwise::cli
