#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "headwise/models/text_model.h"

namespace headwise {
namespace {

const HeadsLeft kPruned = {{0, 1, 2, 3}, {}, {1, 2, 4, 5, 6, 9}};

TEST(HeadsLeftTest, APlaceCountsTheHeadsThatAreLeft) {
  EXPECT_EQ(place_of_head("ablate", "heads", {0, 3}, kPruned).value(), 3u);
  EXPECT_EQ(place_of_head("ablate", "heads", {2, 1}, kPruned).value(), 0u);
  EXPECT_EQ(place_of_head("ablate", "heads", {2, 9}, kPruned).value(), 5u);
}

TEST(HeadsLeftTest, TheErrorOfAHeadThatIsNotThereSaysWhichOnesAre) {
  const auto message = [](const HeadId& head, const HeadsLeft& left) {
    const auto place = place_of_head("ablate", "heads", head, left);
    EXPECT_EQ(place.error().code(), ErrorCode::out_of_range);
    return place.error().message();
  };
  EXPECT_EQ(message({3, 0}, kPruned),
            "ablate: heads has 3.0, expected a head from 0.0 to 2.9");
  EXPECT_EQ(message({5, 1}, {{}, {2, 3}, {}}),
            "ablate: heads has 5.1, expected a head from 1.2 to 1.3");
  EXPECT_EQ(message({0, 4}, kPruned),
            "ablate: heads has 0.4, expected one of the heads of layer 0: 0-3");
  EXPECT_EQ(
      message({2, 3}, kPruned),
      "ablate: heads has 2.3, expected one of the heads of layer 2: 1, 2, "
      "4-6, 9");
  EXPECT_EQ(message({1, 0}, kPruned),
            "ablate: heads has 1.0, expected a head of another layer: layer 1 "
            "has none left");
  for (const HeadId& head : {HeadId{0, 0}, HeadId{9, 9}}) {
    EXPECT_EQ(message(head, {{}, {}}), "ablate: heads has " +
                                           std::to_string(head.layer) + "." +
                                           std::to_string(head.head) +
                                           ", expected a model that has heads");
  }
}

}  // namespace
}  // namespace headwise
