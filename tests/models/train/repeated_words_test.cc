#include "train/repeated_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace headwise {
namespace {

TEST(RepeatedWordsTest, EveryWordComesTwiceInTheSameOrder) {
  const auto vocabulary = repeated_vocabulary();
  EXPECT_EQ(vocabulary.size(), kRepeatedTokens);
  std::set<std::size_t> lengths;
  const auto texts = repeated_texts(Seed{3}, 0, 300).value();
  for (const auto& text : texts) {
    ASSERT_EQ(text.size() % 2, 0u);
    const auto middle =
        text.begin() + static_cast<std::ptrdiff_t>(text.size() / 2);
    EXPECT_TRUE(std::equal(text.begin(), middle, middle));
    EXPECT_EQ(std::set(text.begin(), middle).size(), text.size() / 2);
    for (const TokenId id : text) {
      EXPECT_FALSE(vocabulary[static_cast<std::size_t>(id)].starts_with("["));
    }
    lengths.insert(text.size());
  }
  EXPECT_EQ(*lengths.begin(), 16u);
  EXPECT_EQ(*lengths.rbegin(), kLongestRepeated);
  EXPECT_EQ(lengths.size(), 9u);
}

TEST(RepeatedWordsTest, ATextDependsOnItsSeedAndNumberAlone) {
  const auto texts = repeated_texts(Seed{3}, 10, 5).value();
  EXPECT_EQ(repeated_texts(Seed{3}, 12, 1).value()[0], texts[2]);
  EXPECT_NE(repeated_texts(Seed{4}, 12, 1).value()[0], texts[2]);
}

}  // namespace
}  // namespace headwise
