#include "normalizer_case.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kUncased = R"({"type": "BertNormalizer",
  "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
  "lowercase": true})";
constexpr std::string_view kLowered = R"({"type": "BertNormalizer",
  "clean_text": true, "handle_chinese_chars": true, "strip_accents": false,
  "lowercase": true})";
constexpr std::string_view kNothing = R"({"type": "BertNormalizer",
  "clean_text": false, "handle_chinese_chars": false, "strip_accents": false,
  "lowercase": false})";
constexpr std::string_view kSpacedStripped = R"({"type": "BertNormalizer",
  "clean_text": false, "handle_chinese_chars": true, "strip_accents": true,
  "lowercase": false})";
constexpr std::string_view kClean = R"({"type": "BertNormalizer",
  "clean_text": true, "handle_chinese_chars": false, "strip_accents": null,
  "lowercase": false})";

TEST(BertNormalizerTest, TextsHaveTheCharactersAndPositionsOfTheReference) {
  const std::vector<NormalizerCase> cases = {
      {kUncased, "\u00C9a\u0301\u0327B", "eab", {{0, 2}, {2, 3}, {7, 8}}},
      {kUncased,
       "\u4E2D\uAC01",
       " \u4E2D \u1100\u1161\u11A8",
       {{0, 3}, {0, 3}, {0, 3}, {3, 6}, {3, 6}, {3, 6}}},
      {kUncased,
       "\007a\011\u200D\uFFFDb\u3000",
       "a b ",
       {{1, 2}, {2, 3}, {9, 10}, {10, 13}}},
      {kUncased, "\u0130", "i", {{0, 2}}},
      {kUncased, "\u1E69\u302Eb", "s\u302Eb", {{0, 3}, {3, 6}, {6, 7}}},
      {kUncased, "\u09CB", "\u09C7\u09BE", {{0, 3}, {0, 3}}},
      {kUncased, "\u033D\u034F\u302E", "\u302E", {{4, 7}}},
      {kUncased, "\u033D\u00AD\u302E", "\u302E", {{0, 2}}},
      {kUncased, "a\u0301\u302E\u0323", "a\u302E", {{0, 1}, {3, 6}}},
      {kUncased, "\u0344\u302E", "\u302E", {{0, 2}}},
      {kUncased, "o\u0308\U0001D165", "o\U0001D165", {{0, 1}, {1, 3}}},
      {kLowered, "\u0130\u00C9", "i\u0307\u00E9", {{0, 2}, {0, 2}, {2, 4}}},
      {kNothing, "A\000\u4E2D"sv, "A\000\u4E2D"sv, {{0, 1}, {1, 2}, {2, 5}}},
      {kSpacedStripped,
       "\u00C9\011\U00020000",
       "E\011 \U00020000 ",
       {{0, 2}, {2, 3}, {3, 7}, {3, 7}, {3, 7}}},
      {kClean,
       "\u00C9 \u4E2D\015",
       "\u00C9 \u4E2D ",
       {{0, 2}, {2, 3}, {3, 6}, {6, 7}}},
  };
  for (const NormalizerCase& one : cases) {
    expect_normalized(one);
  }
}

TEST(BertNormalizerTest, ATextThatStaysAsItIsIsNotCopied) {
  const auto normalizer = normalizer_of(kUncased);
  AlignedText text;
  text.view("all of this is kept, \u043A\u0430\u043A \u03B5", 0);
  AlignedText result;
  const Result<bool> changed = normalizer->apply(text, result);
  ASSERT_TRUE(changed);
  EXPECT_FALSE(*changed);
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
