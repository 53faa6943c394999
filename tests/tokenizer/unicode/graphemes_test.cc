#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "unicode/character_traits.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

TEST(GraphemesTest, TheFirstClusterIsThatOfTheReference) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"a", "b"},
      {"a\u0301\u0323", "b"},
      {"\r\n", "\n"},
      {"\n", "\r"},
      {"\n", "\u0301"},
      {"\u200B", "\u0301"},
      {"\u0600a", "b"},
      {"\u0600", "\n"},
      {"\u0915\u0903", "\u0916"},
      // Hangul
      {"\u1100\u1100\u1161\u11A8\u11A8", "\u1100"},
      {"\u1100\uAC00\u1161\u11A8", "\u1161"},
      {"\uAC00\u11A8", "\uAC00"},
      {"\uAC01\u11A8", "\u1161"},
      {"\uAC01", "\u1161"},
      {"\u1161\u1161", "\uAC00"},
      // pictographs
      {"\u00A9\u0301\u200D\u00A9\u200D\U0001F600", "\u00A9"},
      {"\u00A9\u200D", "a"},
      {"\u00A9\u200D\u200D", "\u00A9"},
      {"\u00A9\u0903\u200D", "\u00A9"},
      {"a\u200D", "\u00A9"},
      // conjuncts
      {"\u0915\u094D\u0915", "\u0915"},
      {"\u0915\u0301\u094D\u200D\u0301\u0915", "a"},
      {"\u0915\u200C\u094D", "\u0915"},
      {"\u0915\u094D\u200C", "\u0915"},
      {"\u0915\u094D\u0903", "\u0915"},
      {"\u0915\u0301", "\u0915"},
      {"a\u094D", "\u0915"},
  };
  for (const auto& [cluster, rest] : cases) {
    EXPECT_EQ(first_grapheme(cluster), cluster.size()) << cluster;
    EXPECT_EQ(first_grapheme(std::string(cluster) + std::string(rest)),
              cluster.size())
        << cluster << "|" << rest;
  }
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
