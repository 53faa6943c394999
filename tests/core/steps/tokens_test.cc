#include "headwise/steps/tokens.h"

#include <gtest/gtest.h>

namespace headwise {
namespace {

TEST(TokensTest, TheLongestSequenceCountsAndNoneIsZero) {
  EXPECT_EQ(max_sequence_length({{1, 2}, {}, {3, 4, 5}}), 3u);
  EXPECT_EQ(max_sequence_length({}), 0u);
  EXPECT_EQ(max_sequence_length({{}, {}}), 0u);
}

TEST(TokensTest, EveryIdOfTheVocabularyIsLegal) {
  EXPECT_TRUE(check_tokens({{0, 99}, {}, {50}}, 100));
  EXPECT_TRUE(check_tokens({}, 0));
}

TEST(TokensTest, AnIdOutOfRangeNamesItsSequenceAndPosition) {
  const Status too_large = check_tokens({{0, 1}, {2, 3, 100, 101}}, 100);
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code(), ErrorCode::out_of_range);
  EXPECT_EQ(too_large.error().message(),
            "tokens[1][2] is 100, expected 0 to "
            "vocab_size - 1 = 99");
  const Status negative = check_tokens({{0, -1}}, 100);
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().message(),
            "tokens[0][1] is -1, expected 0 to "
            "vocab_size - 1 = 99");
}

TEST(TokensTest, AnEmptyVocabularyHoldsNoId) {
  const Status s = check_tokens({{0}}, 0);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().message(),
            "tokens[0][0] is 0, expected no token, as vocab_size is 0");
}

}  // namespace
}  // namespace headwise
