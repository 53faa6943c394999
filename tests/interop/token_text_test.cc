#include "headwise/interop/token_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace headwise {
namespace {

using testing::HasSubstr;

RaggedTokens tokens_of(std::string_view text) {
  const auto tokens = parse_tokens(text, "t");
  EXPECT_TRUE(tokens) << tokens.error().message();
  return tokens ? *tokens : RaggedTokens{};
}

std::string message_of(std::string_view text) {
  const auto tokens = parse_tokens(text, "t");
  if (tokens) {
    return "no error";
  }
  EXPECT_EQ(tokens.error().code(), ErrorCode::bad_data);
  return tokens.error().message();
}

const RaggedTokens kTwo = {{62, 13}, {60}};

TEST(ParseTokensTest, JsonAndTextMeanTheSame) {
  for (const char* text :
       {"[[62, 13], [60]]", "  [[62,13],\n[60]]\n",
        "\xEF\xBB\xBF[[62,13],[60]]", "62 13\n60", "62 13\n60\n",
        "62,13\r\n60\r\n", "  62 ,\t13 \n 60 "}) {
    EXPECT_EQ(tokens_of(text), kTwo) << text;
  }
}

TEST(ParseTokensTest, EmptySequencesAndAnEmptyBatchAreLegal) {
  EXPECT_EQ(tokens_of("[]"), RaggedTokens{});
  EXPECT_EQ(tokens_of("[[], [1], []]"), (RaggedTokens{{}, {1}, {}}));
  EXPECT_EQ(tokens_of("1\n\n2\n"), (RaggedTokens{{1}, {}, {2}}));
  EXPECT_EQ(tokens_of("\n1"), (RaggedTokens{{}, {1}}));
}

TEST(ParseTokensTest, NegativeAndLargeIdsAreReadAsTheyAre) {
  EXPECT_EQ(tokens_of("[[-1, 9223372036854775807]]"),
            (RaggedTokens{{-1, 9223372036854775807}}));
  EXPECT_EQ(tokens_of("-9223372036854775808"),
            (RaggedTokens{{std::numeric_limits<TokenId>::min()}}));
}

TEST(ParseTokensTest, EachMistakeIsNamedWithItsPlace) {
  const std::string list =
      "expected a list of lists of ids such as [[62, 13], [60]]";
  const std::string ids = "expected a list of ids such as [62, 13]";
  const auto at = [](int sequence, int position) {
    return "tokens: t: [" + std::to_string(sequence) + "][" +
           std::to_string(position) + "] holds ";
  };
  const std::string whole = ", expected a whole number";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "tokens: t is empty, " + list + ", or one sequence a line"},
      {" \n\r\n", "tokens: t is empty, " + list + ", or one sequence a line"},
      {"[1, 2]", "tokens: t: [0] holds a number, " + ids},
      {"[[1], -2]", "tokens: t: [1] holds a number, " + ids},
      {"[[1], {\"a\": 2}]", "tokens: t: [1] holds an object, " + ids},
      {"{\"a\": [1]}", "tokens: t holds a JSON object, " + list},
      {"\"1 2\"", "tokens: t holds a JSON string, " + list},
      {"[[1, 2]", "tokens: t is not JSON text in UTF-8 at byte 8"},
      {"[[1]] [[2]]", "tokens: t is not JSON text in UTF-8 at byte 7"},
      {"[[1,]]", "tokens: t is not JSON text in UTF-8 at byte 5"},
      {std::string("[[1]]\0", 6),
       "tokens: t has a NUL character in its JSON text at byte 5"},
      {"[[3, \"a\"]]", at(0, 1) + "a text" + whole},
      {"[[], [1.0]]",
       at(1, 0) + "a number that is no integer of 64 bits" + whole},
      {"[[true]]", at(0, 0) + "a bool" + whole},
      {"[[null]]", at(0, 0) + "null" + whole},
      {"[[[1]]]", at(0, 0) + "an array" + whole},
      {"[[{}]]", at(0, 0) + "an object" + whole},
      {"[[9223372036854775808]]",
       at(0, 0) + "a number beyond 2^63 - 1" + whole},
      {"1 2\n3 x",
       "tokens: t: line 2 has \"x\", which is not a token id, expected whole "
       "numbers parted by spaces"},
      {"1.5",
       "tokens: t: line 1 has \"1.5\", which is not a token id, expected whole "
       "numbers parted by spaces"},
      {"9223372036854775808",
       "tokens: t: line 1 has \"9223372036854775808\", which is not a token "
       "id, expected "
       "whole numbers parted by spaces"},
      {"null",
       "tokens: t: line 1 has \"null\", which is not a token id, expected "
       "whole "
       "numbers parted by spaces"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(message_of(text), message);
  }
}

TEST(ParseTokensTest, LongRubbishMakesAShortMessage) {
  EXPECT_LT(message_of(std::string(100000, 'x')).size(), 200u);
  EXPECT_LT(message_of("[[\"" + std::string(100000, 'x') + "\"]]").size(),
            200u);
  EXPECT_LT(message_of("[[" + std::string(100000, '9') + "]]").size(), 200u);
}

TEST(ParseTokensTest, DepthCostsNoStack) {
  const std::size_t depth = 300000;
  EXPECT_THAT(message_of(std::string(depth, '[')),
              HasSubstr("[0][0] holds an array"));
}

TEST(ParseTokensTest, AMillionSequencesAreReadAndNotOneMore) {
  const std::string said = "has more than 1048576 sequences";
  const std::string lines = "1" + std::string(kMostSequences, '\n');
  EXPECT_EQ(tokens_of(lines).size(), kMostSequences);
  EXPECT_EQ(message_of(lines + "2"), "tokens: t " + said);
  std::string list = "[[1]";
  for (std::size_t b = 1; b < kMostSequences; ++b) {
    list += ",[]";
  }
  EXPECT_EQ(tokens_of(list + "]").size(), kMostSequences);
  EXPECT_EQ(message_of(list + ",[]]"), "tokens: t " + said);
}

}  // namespace
}  // namespace headwise
