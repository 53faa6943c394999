#include "view/kept_heads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headwise::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(KeptHeadsTest, AModelThatSaysNothingHasAllItsHeads) {
  const KeptHeads heads = KeptHeads::all(3);
  EXPECT_THAT(heads.numbers(), ElementsAre(0, 1, 2));
  EXPECT_EQ(heads.num_heads(), 3u);
  EXPECT_THAT(heads.pruned(), IsEmpty());
  EXPECT_FALSE(heads.pruned(2));
  EXPECT_FALSE(heads.none());
}

TEST(KeptHeadsTest, EachLayerHasItsOwn) {
  const KeptHeads some({1, 3}, 4);
  EXPECT_THAT(some.numbers(), ElementsAre(1, 3));
  EXPECT_EQ(some.num_heads(), 4u);
  EXPECT_THAT(some.pruned(), ElementsAre(0, 2));
  EXPECT_TRUE(some.pruned(2));
  EXPECT_FALSE(some.pruned(3));
  EXPECT_FALSE(some.pruned(4));  // there was none
  const KeptHeads none({}, 4);
  EXPECT_TRUE(none.none());
  EXPECT_THAT(none.pruned(), ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace headwise::cli
