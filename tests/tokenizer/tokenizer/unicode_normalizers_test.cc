#include "normalizer_case.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using std::string_view_literals::operator""sv;

TEST(UnicodeNormalizersTest, NormalFormsAreThoseOfUnicode9) {
  const std::vector<NormalizerCase> cases = {
      {R"({"type":"NFC"})", "e\u0301x", "\u00E9x", {{0, 1}, {3, 4}}},
      {R"({"type":"NFC"})", "a\u0323\u0302", "\u1EAD", {{0, 1}}},
      {R"({"type":"NFC"})", "\u1100\u1161\u11A8", "\uAC01", {{0, 3}}},
      {R"({"type":"NFC"})", "\uAC00\u11A7", "\uAC00\u11A7", {{0, 3}, {3, 6}}},
      {R"({"type":"NFC"})", "\u0958", "\u0915\u093C", {{0, 3}, {0, 3}}},
      {R"({"type":"NFC"})", "\u0344", "\u0308\u0301", {{0, 2}, {0, 2}}},
      {R"({"type":"NFC"})", "e\u0327\u0301", "\u0229\u0301", {{0, 1}, {3, 5}}},
      {R"({"type":"NFC"})", "\u0301e\u0301", "\u0301\u00E9", {{0, 2}, {2, 3}}},
      {R"({"type":"NFC"})", "a\u0315\u0300", "\u00E0\u0315", {{0, 1}, {3, 5}}},
      {R"({"type":"NFC"})", "\U00011099\U000110BA", "\U0001109A", {{0, 4}}},
      {R"({"type":"NFC"})",
       "\U00011935\U00011930",
       "\U00011935\U00011930",
       {{0, 4}, {4, 8}}},
      {R"({"type":"NFD"})",
       "\u1E69",
       "s\u0323\u0307",
       {{0, 3}, {0, 3}, {0, 3}}},
      {R"({"type":"NFD"})",
       "\uAC01",
       "\u1100\u1161\u11A8",
       {{0, 3}, {0, 3}, {0, 3}}},
      {R"({"type":"NFD"})",
       "\u0344\u0323",
       "\u0323\u0308\u0301",
       {{0, 2}, {2, 4}, {2, 4}}},
      {R"({"type":"NFD"})",
       "q\u0307\u0323",
       "q\u0323\u0307",
       {{0, 1}, {1, 3}, {3, 5}}},
      {R"({"type":"NFKC"})", "\uFB01\u0301", "f\u00ED", {{0, 3}, {3, 5}}},
      {R"({"type":"NFKC"})", "\uFF76\uFF9E", "\u30AC", {{0, 3}}},
      {R"({"type":"NFKC"})",
       "\u32FF\u2163",
       "\u32FFIV",
       {{0, 3}, {3, 6}, {3, 6}}},
      {R"({"type":"NFKD"})", "\u01C4", "DZ\u030C", {{0, 2}, {0, 2}, {0, 2}}},
  };
  for (const NormalizerCase& one : cases) {
    expect_normalized(one);
  }
}

TEST(UnicodeNormalizersTest, CharactersAreReplacedOrDropped) {
  const std::vector<NormalizerCase> cases = {
      {R"({"type":"Nmt"})",
       "\001a\013b\011\014\u1680\u200B\u2581\uFEFF\uFFFD",
       "ab       ",
       {{1, 2},
        {3, 4},
        {4, 5},
        {5, 6},
        {6, 9},
        {9, 12},
        {12, 15},
        {15, 18},
        {18, 21}}},
      {R"({"type":"Nmt"})",
       "a\000\u00AD\u2007\u008E"sv,
       "a\000\u00AD\u2007\u008E"sv,
       {{0, 1}, {1, 2}, {2, 4}, {4, 7}, {7, 9}}},
      {R"({"type":"Lowercase"})",
       "\u0130A\u03A3\u1E9E",
       "i\u0307a\u03C3\u00DF",
       {{0, 2}, {0, 2}, {2, 3}, {3, 5}, {5, 8}}},
      {R"({"type":"Lowercase"})", "ab", "ab", {{0, 1}, {1, 2}}},
      {R"({"type":"StripAccents"})",
       "\u00E9e\u0301\u0903\u20DD",
       "\u00E9e",
       {{0, 2}, {2, 3}}},
  };
  for (const NormalizerCase& one : cases) {
    expect_normalized(one);
  }
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
