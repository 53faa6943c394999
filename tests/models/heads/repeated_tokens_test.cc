#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "heads/stub_model.h"
#include "headwise/heads/find_heads.h"
#include "support/errors.h"

namespace headwise::testing_support {
namespace {

std::vector<std::string> with_words(std::vector<std::string> special,
                                    std::size_t words) {
  for (std::size_t n = 0; n < words; ++n) {
    special.push_back("w" + std::to_string(n));
  }
  return special;
}

TEST(RepeatedTokensTest, AreWordsTwiceBetweenWhatTheModelAdds) {
  const StubModel model(/*causal=*/false,
                        with_words({"[CLS]", "[SEP]", "[PAD]", "[unused1]",
                                    "##ing", "", "<mask>", "<s>"},
                                   60));
  const RaggedTokens texts = repeated_random_tokens(model, {}).value();
  ASSERT_EQ(texts.size(), 50U);
  std::set<TokenId> seen;
  for (const auto& text : texts) {
    ASSERT_EQ(text.size(), 52U);
    EXPECT_EQ(text.front(), 0);
    EXPECT_EQ(text.back(), 1);
    EXPECT_TRUE(
        std::equal(text.begin() + 1, text.begin() + 26, text.begin() + 26));
    const std::set<TokenId> words(text.begin() + 1, text.begin() + 26);
    EXPECT_EQ(words.size(), 25U) << "a word occurs twice";
    seen.insert(words.begin(), words.end());
  }
  EXPECT_EQ(seen.size(), 60U) << "some word was never drawn";
  EXPECT_GE(*seen.begin(), 8) << "not a word";
}

TEST(RepeatedTokensTest, AreAlsoBracketsAndSignsByThemselves) {
  const StubModel model(/*causal=*/true, {"[", "##", "<", "]"});
  const RaggedTokens texts =
      repeated_random_tokens(model, {.texts = 3}).value();
  for (const auto& text : texts) {
    EXPECT_EQ(text.size(), 8U);
    EXPECT_EQ(std::set<TokenId>(text.begin(), text.end()).size(), 4U);
  }
}

TEST(RepeatedTokensTest, DependOnTheSeedAlone) {
  const StubModel model(/*causal=*/true);
  const auto drawn = [&](std::uint64_t seed) {
    return repeated_random_tokens(model, {.texts = 4, .seed = Seed{seed}})
        .value();
  };
  EXPECT_EQ(drawn(3), drawn(3));
  EXPECT_NE(drawn(3), drawn(4));
  const RaggedTokens texts = drawn(3);
  EXPECT_NE(texts[0], texts[1]);
}

TEST(RepeatedTokensTest, FitIntoTheModel) {
  const StubModel model(/*causal=*/false, StubModel::words(), 9);
  const RaggedTokens texts = repeated_random_tokens(model, {}).value();
  for (const auto& text : texts) {
    EXPECT_EQ(text.size(), 2 + 2 * 3U);
  }
}

TEST(RepeatedTokensTest, NeedWordsAndPositions) {
  EXPECT_THAT(repeated_random_tokens(StubModel(true, {"[CLS]", "a"}), {}),
              HasError({.code = ErrorCode::unsupported,
                        .argument = "number of words in the vocabulary",
                        .given = {"1"},
                        .expected = {"2"}}));
  EXPECT_THAT(
      repeated_random_tokens(StubModel(false, StubModel::words(), 5), {}),
      HasError({.code = ErrorCode::unsupported,
                .argument = "number of positions",
                .given = {"5"},
                .expected = {"6"}}));
}

}  // namespace
}  // namespace headwise::testing_support
