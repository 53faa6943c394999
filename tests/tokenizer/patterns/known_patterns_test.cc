#include "patterns/known_patterns.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "patterns/pattern.h"
#include "unicode/characters.h"

namespace headwise::tokenizer {
namespace {

// Every category, white space of all kinds, and what the expressions name.
constexpr std::u32string_view kAlphabet =
    U"  \t\n\r\n''''sStTdmlLreEvVaZz019_-./!\\$+<~@[("
    U"\u017F\u212A\u00DF\u01C5\u02B0\u02EE\u0627\u4E2D\u30A2\u309B\u30FC\uAC00"
    U"\u0301\u0903\u20DD\u0663\u2167\u00BD\u00B2\u0085\u180E\u2028\u2029\u00A0"
    U"\u3000\u200B\u200D\uFEFF\U0001F600\u20AC\u02DC\u2014\u00AB\u0378\uE000"
    U"\U0010FFFF\u0130\uFB01\U00011DE1\u9FA5\u30FF\u3040\u4E00\U00010D50";

std::string random_text(std::mt19937& random) {
  const auto below = [&](std::size_t end) { return random() % end; };
  // Few characters make long runs.
  std::array<char32_t, 4> few{};
  for (char32_t& code : few) {
    code = kAlphabet[below(kAlphabet.size())];
  }
  const bool is_few = below(2) == 0;
  std::string text;
  for (std::size_t left = 1 + below(24); left > 0; --left) {
    append_character(text, is_few ? few[below(few.size())]
                                  : kAlphabet[below(kAlphabet.size())]);
  }
  return text;
}

constexpr const char* kExpressions[] = {
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}"
    "\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)"
    "|\\s+",
    "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+",
    R"(\p{N}{1,3})",
    R"(\p{N})",
    R"(\p{N}+)",
};

TEST(KnownPatterns, FindWhatTheirExpressionsFind) {
  std::mt19937 random(1);
  for (const char* expression : kExpressions) {
    const KnownPattern known = known_pattern(expression);
    ASSERT_NE(known, nullptr) << expression;
    // In a group it is not known.
    const auto general =
        Pattern::compile("(?:" + std::string(expression) + ")").value();
    for (int n = 0; n < 10000; ++n) {
      const std::string text = random_text(random);
      std::vector<Match> expected;
      ASSERT_TRUE(general.find(text, expected));
      std::vector<Match> matches;
      known(text, matches);
      ASSERT_EQ(matches, expected) << expression << "\n[" << text << "]";
    }
  }
}

TEST(KnownPatterns, OthersAreNotKnown) {
  EXPECT_EQ(known_pattern(R"(\p{N}{1,4})"), nullptr);
  EXPECT_EQ(known_pattern(""), nullptr);
}

}  // namespace
}  // namespace headwise::tokenizer
