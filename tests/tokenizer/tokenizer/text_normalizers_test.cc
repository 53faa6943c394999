#include "normalizer_case.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using std::string_view_literals::operator""sv;

TEST(TextNormalizersTest, TextsHaveTheCharactersAndPositionsOfTheReference) {
  const std::vector<NormalizerCase> cases = {
      {R"({"type":"Strip","strip_left":true,"strip_right":true})",
       "\u3000 a b\u0085",
       "a b",
       {{4, 5}, {5, 6}, {6, 7}}},
      {R"({"type":"Strip","strip_left":true,"strip_right":true})",
       "\u00A0 ",
       "",
       {}},
      {R"({"type":"Strip","strip_left":true,"strip_right":true})",
       "\u200Ba",
       "\u200Ba",
       {{0, 3}, {3, 4}}},
      {R"({"type":"Strip","strip_left":true,"strip_right":false})",
       " a ",
       "a ",
       {{1, 2}, {2, 3}}},
      {R"({"type":"Strip","strip_left":false,"strip_right":true})",
       " a ",
       " a",
       {{0, 1}, {1, 2}}},
      {R"({"type":"Prepend","prepend":"\u2581x"})",
       "\u00E9b",
       "\u2581x\u00E9b",
       {{0, 2}, {0, 2}, {0, 2}, {2, 3}}},
      {R"({"type":"Prepend","prepend":""})", "ab", "ab", {{0, 0}, {1, 2}}},
      {R"({"type":"Replace","pattern":{"String":"aaa"},"content":"\u00e91"})",
       "baaac",
       "b\u00E91c",
       {{0, 1}, {3, 4}, {3, 4}, {4, 5}}},
      {R"({"type":"Replace","pattern":{"String":"x"},"content":""})",
       "axxb",
       "ab",
       {{0, 1}, {3, 4}}},
      {R"({"type":"Replace","pattern":{"String":"x"},"content":""})",
       "x",
       "",
       {}},
      {R"({"type":"Replace","pattern":{"String":""},"content":"|"})",
       "x\u00E9",
       "|x|\u00E9|",
       {{0, 0}, {0, 1}, {0, 1}, {1, 3}, {1, 3}}},
      {R"({"type":"Replace","pattern":{"Regex":"x*"},"content":"$0"})",
       "axxy",
       "$0a$0y$0",
       {{0, 0}, {0, 0}, {0, 1}, {2, 3}, {2, 3}, {3, 4}, {3, 4}, {3, 4}}},
      {R"({"type":"ByteLevel"})",
       "a \u00E9\000"sv,
       "a\u0120\u00C3\u00A9\u0100",
       {{0, 1}, {1, 2}, {2, 4}, {2, 4}, {4, 5}}},
  };
  for (const NormalizerCase& one : cases) {
    expect_normalized(one);
  }
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
