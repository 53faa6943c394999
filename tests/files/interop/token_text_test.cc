#include "headwise/interop/token_text.h"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

RaggedTokens tokens_of(std::string_view text) {
  const auto tokens = parse_tokens(text, "t");
  EXPECT_TRUE(tokens) << tokens.error().message();
  return tokens ? *tokens : RaggedTokens{};
}

// The text is refused: the error is about `entry` and names these values.
auto IsBad(std::string entry, std::vector<std::string> given,
           std::vector<std::string> expected = {},
           std::optional<std::uint64_t> byte = {}) {
  return HasError({.code = ErrorCode::bad_data,
                   .operation = "tokens",
                   .file = "t",
                   .entry = std::move(entry),
                   .byte = byte,
                   .given = std::move(given),
                   .expected = std::move(expected)});
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
  struct Mistake {
    std::string text;
    std::string entry;
    std::string given;
    std::string expected;
  };
  const std::string list = "[[62, 13], [60]]";
  const std::string ids = "[62, 13]";
  const std::string whole = "whole";
  for (const auto& [text, entry, given, expected] : std::vector<Mistake>{
           {"", "", "empty", list},
           {" \n\r\n", "", "empty", list},
           {"[1, 2]", "[0]", "number", ids},
           {"[[1], -2]", "[1]", "number", ids},
           {"[[1], {\"a\": 2}]", "[1]", "object", ids},
           {"{\"a\": [1]}", "", "object", list},
           {"\"1 2\"", "", "string", list},
           {"[[3, \"a\"]]", "[0][1]", "text", whole},
           {"[[], [1.0]]", "[1][0]", "64", whole},
           {"[[true]]", "[0][0]", "bool", whole},
           {"[[null]]", "[0][0]", "null", whole},
           {"[[[1]]]", "[0][0]", "array", whole},
           {"[[{}]]", "[0][0]", "object", whole},
           {"[[9223372036854775808]]", "[0][0]", "2^63 - 1", whole},
           {"1 2\n3 x", "line 2", "\"x\"", whole},
           {"1.5", "line 1", "\"1.5\"", whole},
           {"9223372036854775808", "line 1", "\"9223372036854775808\"", whole},
           {"null", "line 1", "\"null\"", whole}}) {
    EXPECT_THAT(parse_tokens(text, "t"), IsBad(entry, {given}, {expected}))
        << text;
  }
}

TEST(ParseTokensTest, TextThatIsNoJsonIsNamedWithItsByte) {
  for (const auto& [text, given, byte] :
       {std::tuple<std::string, std::string, std::uint64_t>{"[[1, 2]", "JSON",
                                                            8},
        {"[[1]] [[2]]", "JSON", 7},
        {"[[1,]]", "JSON", 5},
        {std::string("[[1]]\0", 6), "NUL", 5}}) {
    EXPECT_THAT(parse_tokens(text, "t"), IsBad("", {given}, {}, byte)) << text;
  }
}

TEST(ParseTokensTest, LongRubbishMakesAShortMessage) {
  for (const std::string& text :
       {std::string(100000, 'x'), "[[\"" + std::string(100000, 'x') + "\"]]",
        "[[" + std::string(100000, '9') + "]]"}) {
    const auto tokens = parse_tokens(text, "t");
    ASSERT_FALSE(tokens);
    EXPECT_LT(tokens.error().message().size(), 200u);
  }
}

TEST(ParseTokensTest, DepthCostsNoStack) {
  const std::size_t depth = 300000;
  EXPECT_THAT(parse_tokens(std::string(depth, '['), "t"),
              IsBad("[0][0]", {"array"}));
}

TEST(ParseTokensTest, AMillionSequencesAreReadAndNotOneMore) {
  const std::string lines = "1" + std::string(kMostSequences, '\n');
  EXPECT_EQ(tokens_of(lines).size(), kMostSequences);
  EXPECT_THAT(parse_tokens(lines + "2", "t"), IsBad("", {"1048576"}));
  std::string list = "[[1]";
  for (std::size_t b = 1; b < kMostSequences; ++b) {
    list += ",[]";
  }
  EXPECT_EQ(tokens_of(list + "]").size(), kMostSequences);
  EXPECT_THAT(parse_tokens(list + ",[]]", "t"), IsBad("", {"1048576"}));
}

}  // namespace
}  // namespace headwise::testing_support
