#include "patterns/pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace headwise::tokenizer {
namespace {

// The matches with brackets around them.
std::string found(const Pattern& pattern, std::string_view text) {
  std::vector<Match> matches;
  const Status status = pattern.find(text, matches);
  if (!status) {
    return status.error().message();
  }
  std::string shown;
  std::size_t at = 0;
  for (const Match& match : matches) {
    shown += text.substr(at, match.begin - at);
    shown += '<';
    shown += text.substr(match.begin, match.end - match.begin);
    shown += '>';
    at = match.end;
  }
  return shown + std::string(text.substr(at));
}

std::string found(std::string_view expression, std::string_view text) {
  const auto pattern = Pattern::compile(expression);
  return pattern ? found(*pattern, text) : pattern.error().message();
}

struct Case {
  const char* expression;
  const char* text;
  const char* matches;
};

// What tokenizers 0.23.3 finds.
constexpr Case kCases[] = {
    {"x*", "axxb", "<>a<xx>b<>"},
    {"", "ab", "<>a<>b<>"},
    {"a{,3}b", "aaaab", "a<aaab>"},
    {R"(\p{N}{1,3}+)", "12345", "<12345>"},
    {"^a$", "a\na", "<a>\n<a>"},
    {"(?m:.)+", "a\nb", "<a\nb>"},
    {R"(\h+)", "xfF0", "x<fF0>"},
    {"[a-z&&[^b]]+", "abc", "<a>b<c>"},
    {"(?i)\u00DF", "SS", "<SS>"},
    {"(?i:'s)", "'\u017F", "<'\u017F>"},
    {R"(\w)", "\u00B2", "<\u00B2>"},
    {R"([\w])", "\u00B2", "\u00B2"},
    {R"(\b.)", "\u00BD a", "<\u00BD>< ><a>"},
    {R"(\Ba)", "aa a", "a<a> a"},
    {R"(\p{punct}+)", "a+-", "a+<->"},
    {"[[:punct:]]+", "a+-b$", "a<+->b<$>"},
    {"[x[:^alpha:]]+", "ax1\u00E9-", "a<x1>\u00E9<->"},
    {R"(\p{L})", "\U00010D50", "<\U00010D50>"},  // Unicode 16
    {R"(\p{Garay})", "\U00010D50", "<\U00010D50>"},
    {R"(\p{^L}|\P{^Lu})", "a1B", "a<1><B>"},
    {R"((?i)\p{Lu})", "aB", "a<B>"},
    {R"((?i)[\p{Lu}])", "aB", "<a><B>"},
    {R"([^\S\n]+)", "a \n\tb", "a< >\n<\t>b"},
    {R"([^\s\S])", "a", "a"},
    {"[]a]+", "a]b", "<a]>b"},
    {R"((?=(?:\w\w)+$)\w)", "abc", "a<b>c"},
    {R"((?:\p{L}(?!\d))++)", "abc1", "<ab>c1"},
    {"(?<=a+)b", "aab", "aa<b>"},
    {R"((?<n>\x41)++\u0062*+\x{30}{1})", "AAbb0", "<AAbb0>"},
    {R"(\p{L}+\N*)", "a\nb", "<a>\n<b>"},
    {"a{3,1}", "aaaa", "<aaa><a>"},
    {"(a|ab)(c|bcd)", "abcd", "<abcd>"},
    {"\xEA\xB0\x80{2}", "\uAC00\uAC00\uAC00", "<\uAC00\uAC00>\uAC00"},
};

TEST(Pattern, FindsWhatTheReferenceFinds) {
  for (const Case& tried : kCases) {
    EXPECT_EQ(found(tried.expression, tried.text), tried.matches)
        << tried.expression;
  }
}

TEST(Pattern, RefusesWithAReason) {
  const auto why = [](std::string_view expression) {
    return found(expression, "");
  };
  EXPECT_EQ(why("("),
            "regular expression ( is wrong: end pattern with unmatched "
            "parenthesis");
  EXPECT_EQ(why(R"(\p{Foo})"),
            R"(regular expression \p{Foo} has an unknown property, Foo)");
  for (const char* expression :
       {R"(\X)", R"(\y)", R"((a)\g<1>)", "(?~ab)", "(?{x})", "(*FAIL)",
        "(a)?(?(1)b|c)", R"((?W:\w))", R"(\101)", R"((.)\1)", R"((?<n>.)\k<n>)",
        R"(\R)", R"(a\Kb)", "(?x)a", "(?#note)a"}) {
    const auto pattern = Pattern::compile(expression);
    ASSERT_FALSE(pattern) << expression;
    EXPECT_EQ(pattern.error().code(), ErrorCode::unsupported) << expression;
  }
  for (const char* expression :
       {"a{1,100001}", "[z-a]", R"([\d-a])", R"([a-\d])", "a**b|*", "[[:foo:]]",
        R"(\p{Script=Han})", "(?s:.)", R"(\u{41})", R"(\p{L)", "(?", R"(\)",
        R"([\)", R"(\c)", R"(\M-\C-)", "(?<"}) {
    const auto pattern = Pattern::compile(expression);
    ASSERT_FALSE(pattern) << expression;
    EXPECT_EQ(pattern.error().code(), ErrorCode::invalid_argument)
        << expression;
  }
}

std::string repeated(std::string_view part, int times) {
  std::string text;
  while (times-- > 0) {
    text += part;
  }
  return text;
}

TEST(Pattern, RefusesExpressionsThatTakeLongToCompile) {
  for (const std::string& expression :
       {repeated("(", 10000), repeated("[", 10000), repeated("a", 70000),
        repeated(R"(\p{L})", 10000), "(?i)" + repeated("ss", 10000),
        "a" + repeated("*", 10000)}) {
    EXPECT_FALSE(Pattern::compile(expression));
  }
}

TEST(Pattern, EndsWhereASearchWouldNot) {
  const std::string letters = repeated("a", 20'000);
  for (const char* expression :
       {"(a+)+$", "(?=a*)", "(?=a*+)a", "a++b", "(?>a{1,100000})b",
        "a{100000,1}b", ".{5000}[ab]$", ".{9}{9}{9}{9}[ab]$",
        "(?:a|a){7}b|a"}) {
    // The last one is slow only in the sum of many matches.
    const std::string text = std::string_view(expression).ends_with("|a")
                                 ? repeated(letters, 8)
                                 : letters + "!" + letters + letters + "b";
    const std::string message = found(expression, text);
    EXPECT_NE(message.find("takes too many steps in this text"),
              std::string::npos)
        << expression;
    EXPECT_NE(message.find(expression), std::string::npos);
  }
}

TEST(Pattern, EndsWhereALongExpressionIsSlow) {
  const auto message =
      found(repeated(".", 5000) + "[ab]$", repeated("a", 40'000) + "!");
  EXPECT_NE(message.find("takes too many steps in this text"),
            std::string::npos);
}

TEST(Pattern, LongTextsReachNoLimit) {
  const std::string text =
      repeated("the 12 quick, brown foxes' dens\r\n", 60000);
  for (const char* expression :
       {R"('s| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
        R"([^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|\s++$|\s)", "x"}) {
    const auto pattern = Pattern::compile(expression).value();
    std::vector<Match> matches;
    EXPECT_TRUE(pattern.find(text, matches)) << expression;
  }
}

TEST(Pattern, Literal) {
  EXPECT_EQ(found(Pattern::literal("a."), "a.aa.b"), "<a.>a<a.>b");
  EXPECT_EQ(found(Pattern::literal("aa"), "aaa"), "<aa>a");
  EXPECT_EQ(found(Pattern::literal(""), "\u00E9b"), "<>\u00E9<>b<>");
}

TEST(Pattern, ThreadsShareAPattern) {
  const auto pattern = Pattern::compile(R"((?<=a)a|b+|\s+(?!\S))").value();
  std::vector<std::string> results(4);
  std::vector<std::thread> threads;
  for (std::string& result : results) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        result = found(pattern, "aab   c");
        (void)Pattern::compile(R"(\p{Lu}+\b)");
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(results, std::vector<std::string>(4, "a<a><b><  > c"));
}

}  // namespace
}  // namespace headwise::tokenizer
