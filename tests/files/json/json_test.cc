#include "headwise/json/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace headwise {
namespace {

constexpr std::size_t kMost = 1000;
constexpr int kDeepest = 8;

Json parsed(std::string_view text) {
  return Json::parse(text, kMost, kDeepest).value();
}

TEST(JsonTest, PairsThatBeginWithATextAreAnObject) {
  const Json json = {{"b", 1}, {"a", {1, 2}}, {"c", {{"d", nullptr}}}};
  EXPECT_EQ(json.dump(), R"({"b":1,"a":[1,2],"c":{"d":null}})");
  EXPECT_EQ(Json({{1, 2}, {3, 4}}).dump(), "[[1,2],[3,4]]");
  EXPECT_EQ(Json({"a", "b"}).dump(), R"(["a","b"])");
}

TEST(JsonTest, NumbersKeepAllTheirDigits) {
  const Json json = {std::numeric_limits<std::uint64_t>::max(),
                     std::numeric_limits<std::int64_t>::min(),
                     0.1,
                     0.1F,
                     1.0,
                     1e300};
  EXPECT_EQ(json.dump(),
            "[18446744073709551615,-9223372036854775808,0.1,"
            "0.10000000149011612,1.0,1e+300]");
  EXPECT_EQ(parsed(json.dump()), json);
}

TEST(JsonTest, WhatIsNoNumberOfJsonIsNull) {
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  EXPECT_EQ(Json(HUGE_VAL).dump(), "null");
}

TEST(JsonTest, AnOptionalWithoutAValueIsNull) {
  EXPECT_EQ(Json(std::optional<double>()).dump(), "null");
  EXPECT_EQ(Json(std::optional<double>(2)).dump(), "2.0");
}

TEST(JsonTest, TextsAreEscaped) {
  EXPECT_EQ(Json("a\"\n\x01 \xea\xb0\x80").dump(),
            "\"a\\\"\\n\\u0001 \xea\xb0\x80\"");
  EXPECT_EQ(Json(std::string("\xff")).dump(), "\"\xef\xbf\xbd\"");  // no UTF-8
}

TEST(JsonTest, AnIndentGivesLines) {
  const Json json = {{"a", {1, {{"b", 2}}}}, {"c", Json::object()}};
  EXPECT_EQ(json.dump(2),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": 2\n    }\n  ],\n"
            "  \"c\": {}\n}");
}

TEST(JsonTest, NullGrowsIntoAnArrayOrAnObject) {
  Json array;
  array.push_back(1);
  Json object;
  object["key"] = 2;
  object["key"] = 3;
  EXPECT_EQ(array.dump(), "[1]");
  EXPECT_EQ(object.dump(), R"({"key":3})");
}

TEST(JsonTest, BytesThatAreNoUtf8BecomeU_FFFD) {
  EXPECT_EQ(Json("out\xFF").dump(), "\"out\uFFFD\"");
  EXPECT_EQ(Json("\xE2\x82").dump(), "\"\uFFFD\"");  // half a character
  Json object;
  object["a\xC0"] = 1;
  EXPECT_EQ(object.dump(), "{\"a\uFFFD\":1}");
  EXPECT_EQ(object.dump(2), "{\n  \"a\uFFFD\": 1\n}");
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = {'a', static_cast<char>(byte), 'b'};
    EXPECT_FALSE(Json(text).dump().empty()) << byte;
  }
}

TEST(JsonTest, CopiesAreTheirOwn) {
  const Json first = {{"a", {1, 2}}};
  Json second = first;
  second["a"][0] = 7;
  EXPECT_EQ(first.dump(), R"({"a":[1,2]})");
  EXPECT_EQ(second.dump(), R"({"a":[7,2]})");
}

TEST(JsonTest, UpdateSetsEveryKeyOfTheOther) {
  Json json = {{"a", 1}, {"b", 2}};
  json.update({{"b", 3}, {"c", 4}});
  EXPECT_EQ(json.dump(), R"({"a":1,"b":3,"c":4})");
}

TEST(JsonTest, EqualWhateverTheOrderOfKeys) {
  EXPECT_EQ(parsed(R"({"a": 1, "b": [true, null]})"),
            parsed(R"({"b": [true, null], "a": 1})"));
  EXPECT_NE(parsed(R"({"a": 1})"), parsed(R"({"a": 2})"));
  EXPECT_NE(parsed(R"({"a": 1})"), parsed(R"({"b": 1})"));
  EXPECT_NE(parsed("[1, 2]"), parsed("[2, 1]"));
  EXPECT_NE(parsed("1"), parsed("-1"));
  EXPECT_NE(parsed("1"), parsed("\"1\""));
}

TEST(JsonTest, ReadsWhatIsThere) {
  const Json json = parsed(
      R"({"n": 5, "x": -2.5, "t": "text", "b": true, "l": [[1], [2, 3]]})");
  std::uint64_t n = 0;
  double x = 0;
  std::string t;
  bool b = false;
  std::vector<std::vector<std::size_t>> l;
  EXPECT_TRUE(json.find("n")->get(n) && json.find("x")->get(x) &&
              json.find("t")->get(t) && json.find("b")->get(b) &&
              json.find("l")->get(l));
  EXPECT_EQ(n, 5u);
  EXPECT_EQ(x, -2.5);
  EXPECT_EQ(t, "text");
  EXPECT_TRUE(b);
  EXPECT_EQ(l, (std::vector<std::vector<std::size_t>>{{1}, {2, 3}}));
  EXPECT_EQ(json.find("m"), nullptr);
  EXPECT_EQ(Json(1).find("n"), nullptr);
}

TEST(JsonTest, AnotherKindIsNotReadAndChangesNothing) {
  std::uint64_t n = 7;
  EXPECT_FALSE(parsed("-1").get(n));
  EXPECT_FALSE(parsed("1.5").get(n));
  EXPECT_FALSE(parsed("\"1\"").get(n));
  EXPECT_EQ(n, 7u);
  int i = 7;
  EXPECT_FALSE(parsed("4294967296").get(i));
  EXPECT_EQ(i, 7);
  std::vector<std::uint64_t> list = {7};
  EXPECT_FALSE(parsed("[1, true]").get(list));
  EXPECT_FALSE(parsed("{}").get(list));
  EXPECT_EQ(list, std::vector<std::uint64_t>{7});
  double x = 7;
  EXPECT_FALSE(parsed("true").get(x));
  EXPECT_TRUE(parsed("3").get(x));
  EXPECT_EQ(x, 3);
}

TEST(JsonTest, WhatIsNoJsonIsNotParsed) {
  for (const char* text : {"", "{", "[1,]", "nul", "{\"a\" 1}", "1 2",
                           "\"\xff\"", "[1e999]", "{\"a\":1}}"}) {
    EXPECT_FALSE(Json::parse(text, kMost, kDeepest)) << text;
  }
}

TEST(JsonTest, LimitsHoldForBytesAndNesting) {
  EXPECT_TRUE(Json::parse("[[1]]", 5, 2));
  EXPECT_FALSE(Json::parse("[[1]]", 4, 2));
  EXPECT_FALSE(Json::parse("[[1]]", 5, 1));
}

TEST(JsonTest, TheLastOfEqualKeysCounts) {
  EXPECT_EQ(parsed(R"({"a": 1, "a": 2})").dump(), R"({"a":2})");
}

}  // namespace
}  // namespace headwise
