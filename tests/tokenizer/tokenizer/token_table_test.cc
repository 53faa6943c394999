#include "tokenizer/token_table.h"

#include <gtest/gtest.h>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using Entries = std::vector<TokenTable::Entry>;

TEST(TokenTableTest, FindsTextsOfEveryLength) {
  Entries entries;
  std::string text;
  for (std::uint32_t n = 0; n < 600; ++n) {
    entries.emplace_back(text, 3 * n);
    text += static_cast<char>('a' + n % 3);
  }
  const TokenTable table(entries);
  EXPECT_EQ(table.size(), entries.size());
  for (const auto& [known, id] : entries) {
    ASSERT_EQ(table.find(known), id);
    ASSERT_EQ(table.token(id), known);
    ASSERT_FALSE(table.find("x" + known));
    ASSERT_FALSE(table.token(id + 1));
  }
}

TEST(TokenTableTest, TextsWithOneBeginningDiffer) {
  const TokenTable table(
      Entries{{"12345678a", 0}, {"12345678b", 1}, {std::string("a\0", 2), 2}});
  EXPECT_EQ(table.find("12345678b"), 1);
  EXPECT_FALSE(table.find("12345678c"));
  EXPECT_FALSE(table.find("a"));
  EXPECT_FALSE(table.find(std::string("a\0\0", 3)));
}

TEST(TokenTableTest, TheLastEntryWins) {
  const TokenTable table(Entries{{"a", 0}, {"b", 1}, {"a", 2}, {"c", 1}});
  EXPECT_EQ(table.size(), 3);
  EXPECT_EQ(table.find("a"), 2);
  EXPECT_FALSE(table.token(0));
  EXPECT_EQ(table.find("b"), 1);
  EXPECT_EQ(table.token(1), "c");
  EXPECT_EQ(table.token(2), "a");
  EXPECT_TRUE(table.repeats_ids());
  EXPECT_FALSE(TokenTable(Entries{{"a", 0}, {"a", 1}}).repeats_ids());
  EXPECT_FALSE(TokenTable().find(""));
  EXPECT_FALSE(TokenTable().token(0));
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
