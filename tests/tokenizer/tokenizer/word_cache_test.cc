#include "tokenizer/word_cache.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

std::vector<ModelToken> tokens_for(std::uint32_t n) {
  return std::vector<ModelToken>(n % 5, ModelToken{n, n + 1, n + 2});
}

TEST(WordCacheTest, GivesBackWhatWasAdded) {
  WordCache cache;
  EXPECT_FALSE(cache.find("a"));
  for (std::uint32_t n = 0; n < 20000; ++n) {
    cache.add("word" + std::to_string(n), tokens_for(n));
  }
  for (std::uint32_t n = 0; n < 20000; ++n) {
    const auto found = cache.find("word" + std::to_string(n));
    ASSERT_TRUE(found);
    ASSERT_TRUE(std::ranges::equal(*found, tokens_for(n)));
  }
  EXPECT_FALSE(cache.find("word20000"));
  EXPECT_FALSE(cache.find(""));
}

TEST(WordCacheTest, IsEmptiedWhenItIsFull) {
  WordCache cache;
  std::size_t kept = 0;
  for (std::uint32_t n = 0; n < 200000; ++n) {
    cache.add(std::to_string(n), tokens_for(n));
    ASSERT_TRUE(cache.find(std::to_string(n)));
  }
  for (std::uint32_t n = 0; n < 200000; ++n) {
    const auto found = cache.find(std::to_string(n));
    kept += found ? 1 : 0;
    ASSERT_TRUE(!found || std::ranges::equal(*found, tokens_for(n)));
  }
  EXPECT_LE(kept, 65536);
}

TEST(WordCacheTest, DoesNotKeepHugeWords) {
  WordCache cache;
  const std::string huge(70000, 'a');
  cache.add(huge, tokens_for(1));
  EXPECT_FALSE(cache.find(huge));
  cache.add("many", std::vector<ModelToken>(70000));
  EXPECT_FALSE(cache.find("many"));
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
