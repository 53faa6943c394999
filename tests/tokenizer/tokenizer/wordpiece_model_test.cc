#include <gtest/gtest.h>

#include "tokenizer/model_words.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

Json wordpiece(std::size_t longest = 100, std::string_view prefix = "##") {
  return {{"type", "WordPiece"},
          {"unk_token", "[UNK]"},
          {"continuing_subword_prefix", prefix},
          {"max_input_chars_per_word", longest}};
}

TEST(WordPieceModelTest, TakesTheLongestPiece) {
  const auto model = model_of(bpe_spec(
      wordpiece(), {"[UNK]", "a", "ab", "##c", "##cd", "##", "\u00E9", ""}));
  EXPECT_EQ(tokens_of(*model, "abcdc"), "ab[0,2) ##cd[2,4) ##c[4,5)");
  EXPECT_EQ(tokens_of(*model, "\u00E9c"), "\u00E9[0,2) ##c[2,3)");
  EXPECT_EQ(tokens_of(*model, "abcx"), "[UNK][0,4)");
  EXPECT_EQ(tokens_of(*model, "##"), "##[0,2)");
  EXPECT_EQ(tokens_of(*model, "##a"), "[UNK][0,3)");
}

TEST(WordPieceModelTest, CountsCharactersOfAWord) {
  const auto model =
      model_of(bpe_spec(wordpiece(2, ""), {"[UNK]", "a", "\u00E9"}));
  EXPECT_EQ(tokens_of(*model, "\u00E9\u00E9"), "\u00E9[0,2) \u00E9[2,4)");
  EXPECT_EQ(tokens_of(*model, "aaa"), "[UNK][0,3)");
}

TEST(WordPieceModelTest, MissesUnkTokenOnlyWhereItIsNeeded) {
  const auto model = model_of(bpe_spec(wordpiece(), {"a"}));
  EXPECT_EQ(tokens_of(*model, "a"), "a[0,1)");
  EXPECT_EQ(tokens_of(*model, "b"),
            "read: t.json: model.unk_token is \"[UNK]\", expected a token of "
            "model.vocab");
  EXPECT_EQ(spec_error(bpe_spec({{"type", "WordPiece"}}, {"a"})),
            "read: t.json: model has no unk_token");
}

TEST(WordLevelModelTest, KnowsWholeWords) {
  const auto model = model_of(
      bpe_spec({{"type", "WordLevel"}, {"unk_token", "u"}}, {"ab", "u", ""}));
  EXPECT_EQ(tokens_of(*model, "ab"), "ab[0,2)");
  EXPECT_EQ(tokens_of(*model, "abc"), "u[0,3)");
  EXPECT_EQ(tokens_of(*model_of(bpe_spec(
                          {{"type", "WordLevel"}, {"unk_token", "v"}}, {"a"})),
                      "b"),
            "read: t.json: model.unk_token is \"v\", expected a token of "
            "model.vocab");
}

// Without "type", the first of BPE, WordPiece and WordLevel whose keys are
// there.
TEST(TokenModelTest, GuessesTheType) {
  Json untyped = {{"unk_token", "u"}};
  EXPECT_EQ(tokens_of(*model_of(bpe_spec(untyped, {"a", "b", "u"})), "ab"),
            "u[0,2)");
  EXPECT_EQ(tokens_of(*model_of(bpe_spec(untyped, {"a", "b", "ab", "u"},
                                         {{"a", "b"}})),
                      "abq"),
            "ab[0,2) u[2,3)");
  untyped["continuing_subword_prefix"] = "";
  untyped["max_input_chars_per_word"] = 9;
  EXPECT_EQ(tokens_of(*model_of(bpe_spec(untyped, {"a", "b", "u"})), "ab"),
            "a[0,1) b[1,2)");
  EXPECT_EQ(spec_error(bpe_spec({{"type", "Bpe"}}, {"a"})),
            "read: t.json: model.type is \"Bpe\", expected BPE, WordPiece, "
            "WordLevel, Unigram");
  EXPECT_EQ(spec_error(bpe_spec(Json::object(), {"a"})),
            "read: t.json: model has no type");
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
