#include "normalizer_case.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using std::string_view_literals::operator""sv;

TEST(NormalizerTest, StepsOfASequenceRunInOrder) {
  const std::vector<NormalizerCase> cases = {
      {R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"\u2581"},{"type":"Replace","pattern":{"String":" "},"content":"\u2581"}]})",
       "a b",
       "\u2581a\u2581b",
       {{0, 1}, {0, 1}, {1, 2}, {2, 3}}},
      {R"({"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"},{"type":"Lowercase"},{"type":"NFC"}]})",
       "\u00C9\u1E69",
       "es",
       {{0, 2}, {2, 5}}},
      {R"({"type":"Sequence","normalizers":[]})", "a", "a", {{0, 1}}},
      {"null", "A", "A", {{0, 1}}},
      {R"({"type":"Sequence","normalizers":[{"type":"Sequence","normalizers":[{"type":"Lowercase"}]},{"type":"Sequence","normalizers":[{"type":"Replace","pattern":{"String":"a"},"content":"bb"},{"type":"Replace","pattern":{"String":"b"},"content":"\u00e9"}]}]})",
       "xA",
       "x\u00E9\u00E9",
       {{0, 1}, {1, 2}, {1, 2}}},
  };
  for (const NormalizerCase& one : cases) {
    expect_normalized(one);
  }
}

std::string error_of(std::string_view json) {
  const auto made = normalizer_of(json);
  return made ? "" : made.error().message();
}

TEST(NormalizerTest, OldFilesHaveNoType) {
  expect_normalized({R"({"prepend": "x"})", "a", "xa", {{0, 1}, {0, 1}}});
  expect_normalized({R"({"normalizers": [{"type": "Lowercase", "more": 1}]})",
                     "A",
                     "a",
                     {{0, 1}}});
}

TEST(NormalizerTest, AnUnknownTypeIsNamedWithThoseThatExist) {
  const auto made = normalizer_of(
      R"({"type": "Sequence", "normalizers": [{"type": "Upper"}]})");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::unsupported);
  EXPECT_EQ(
      made.error().message(),
      "read: t.json: normalizer.normalizers[0].type is \"Upper\", expected "
      "BertNormalizer, NFC, NFD, NFKC, NFKD, Nmt, Lowercase, Strip, "
      "StripAccents, Prepend, Replace, Precompiled, SentencePiece, "
      "ByteLevel");
}

TEST(NormalizerTest, KeysThatMustBeThereAreNamed) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"({})", "type"},
      {R"([])", "type"},
      {R"({"type": "Strip", "strip_left": true})", "strip_right"},
      {R"({"type": "Strip", "strip_right": true})", "strip_left"},
      {R"({"type": "Prepend"})", "prepend"},
      {R"({"type": "Replace", "pattern": {"String": "a"}})", "content"},
      {R"({"type": "Replace", "content": "a"})", "pattern"},
      {R"({"type": "Precompiled"})", "precompiled_charsmap"},
      {R"({"type": "Sequence"})", "normalizers"},
      {R"({"type": "BertNormalizer", "handle_chinese_chars": true,
           "lowercase": true})",
       "clean_text"},
      {R"({"type": "BertNormalizer", "clean_text": true, "lowercase": true})",
       "handle_chinese_chars"},
      {R"({"type": "BertNormalizer", "clean_text": true,
           "handle_chinese_chars": true})",
       "lowercase"},
  };
  for (const auto& [json, key] : cases) {
    EXPECT_EQ(error_of(json),
              "read: t.json: normalizer has no " + std::string(key));
  }
}

TEST(NormalizerTest, ValuesOfOtherKindsAreRefused) {
  EXPECT_EQ(error_of(R"({"type": "Prepend", "prepend": 1})"),
            "read: t.json: normalizer.prepend is 1, expected a text");
  EXPECT_EQ(error_of(R"({"type": "Replace", "pattern": "a", "content": ""})"),
            "read: t.json: normalizer.pattern is \"a\", expected String or "
            "Regex, with "
            "a text");
}

TEST(NormalizerTest, SequencesNestAsDeepAsAFileCan) {
  std::string json = R"({"type": "Lowercase"})";
  for (int depth = 0; depth < 45; ++depth) {
    json = R"({"type": "Sequence", "normalizers": [)" + json + "]}";
  }
  expect_normalized({json, "A", "a", {{0, 1}}});
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
